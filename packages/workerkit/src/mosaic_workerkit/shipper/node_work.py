"""What a shipper does beyond events when its folder is not the stack's: files, credentials, and the run's end."""

import asyncio
import base64
import json
import time
from collections.abc import Awaitable
from pathlib import Path

from pydantic import ValidationError

from mosaic_base.atomic import replace_file
from mosaic_contracts.launch import CREDS_FILE, EXIT_FILE, ExitPhase, ExitReport
from mosaic_contracts.nodes import ExitNotice, NodeRequest, NodeVerb, RunCredentials
from mosaic_workerkit.errors import NodeRefused, NodeUnanswered
from mosaic_workerkit.shipper.connection import read_credentials
from mosaic_workerkit.shipper.delivery import DeliveryState, wait_for_event
from mosaic_workerkit.shipper.log import log_event
from mosaic_workerkit.shipper.node_client import NodeClient, claim_of
from mosaic_workerkit.shipper.node_files import NodeFiles
from mosaic_workerkit.shipper.parent import ask_runner_to_stop

_LOOK_S = 1.0
_AGAIN_S = 0.5
_ASK_S = 30.0
"""How often a run that has nothing to send asks whether its attempt still counts."""
_SURE_AFTER = 2
"""Answers in a row that the attempt is over: one alone may have come while the stack prepared the run's folder."""
ORPHANED = "the run did not reach the broker for {hours:.1f} h and stopped itself"


class NodeWork:
    """Outlives connections; each gives it a client."""

    def __init__(self, delivery: DeliveryState) -> None:
        self._delivery = delivery
        self._files = NodeFiles(delivery.run_dir)
        self._claim = claim_of(delivery)
        self.has_delivered = delivery.launch.shares_folder
        """Whether the stack has all files and the end; at once where it sees the folder."""
        self.notes: list[str] = []
        """What the shipper itself has to say of the run's end."""
        self.has_given_up = False
        """The stack takes nothing of this attempt any more: what is here stays here."""
        self._times_over = 0
        self._ask_at = 0.0
        """When to ask next (monotonic)."""

    @property
    def is_finished(self) -> bool:
        """Whether nothing can be sent any more: all is delivered, or the stack wants no more of it."""
        return self.has_delivered or self.has_given_up

    async def run(self, client: NodeClient) -> None:
        """Send files while the run lives, and say that the worker has ended as soon as it has."""
        while not self._delivery.is_draining:
            if not self.has_given_up:
                await self._try(self._look(client))
            await wait_for_event(self._delivery.draining, _LOOK_S)
        while not self.has_given_up:
            if await self._try(self._report(client, ExitPhase.WORKER_ENDED)):
                break
            await asyncio.sleep(_AGAIN_S)
        await asyncio.get_running_loop().create_future()  # `finish` does the rest

    async def finish(self, client: NodeClient) -> None:
        """Send the rest once all events are stored, then the end."""
        while not self.is_finished:
            if await self._try(self._last(client)):
                # the end was refused, and would be again, or files are left that cannot be sent
                self.has_given_up |= not self.has_delivered
            if not self.is_finished:
                await asyncio.sleep(_AGAIN_S)

    async def _look(self, client: NodeClient) -> None:
        await self._renew(client)
        if time.monotonic() >= self._ask_at:
            await self._files.ask(client, self._delivery.launch.attempt, self._claim)
            self._ask_at = time.monotonic() + _ASK_S
        await self._ship(client, is_last=False)

    async def _last(self, client: NodeClient) -> None:
        await self._ship(client, is_last=True)
        has_all = not self._files.has_left_any
        await self._report(client, ExitPhase.DRAINED if has_all else ExitPhase.NOT_DRAINED)
        self.has_delivered = has_all

    async def _try(self, work: Awaitable[None]) -> bool:
        """Whether it was done, or is refused for good."""
        try:
            await work
        except NodeUnanswered as error:
            self._delivery.log_error("node.unanswered", error)
            return False
        except NodeRefused as error:
            self._delivery.log_error("node.refused", error)
            if error.is_over:
                self._take_end(error)
                return False
        self._times_over = 0
        return True

    def _take_end(self, error: NodeRefused) -> None:
        """The attempt is over for the stack: send nothing more, and have the worker stop if it still lives."""
        self._times_over += 1
        if self._times_over < _SURE_AFTER or self.has_given_up:
            return
        self.has_given_up = True
        log_event("attempt.over", error=str(error))
        if not self._delivery.is_draining:
            ask_runner_to_stop(self._delivery.run_dir)

    async def _ship(self, client: NodeClient, *, is_last: bool) -> None:
        attempt = self._delivery.launch.attempt
        await self._files.ship(client, attempt, self._claim, is_last=is_last)

    async def _report(self, client: NodeClient, phase: ExitPhase) -> None:
        report = _exit_report(self._delivery.run_dir)
        if report is None or report.attempt != self._delivery.launch.attempt:
            return  # the runner was killed before it could write one: the engine says so
        notes = list(dict.fromkeys([*report.notes, *self.notes, *self._files.notes()]))
        report = report.model_copy(update={"phase": phase, "notes": notes})
        notice = ExitNotice(attempt=report.attempt, claim=self._claim, report=report)
        await client.ask(NodeVerb.EXIT, notice)
        log_event("exit.reported", phase=phase)

    async def _renew(self, client: NodeClient) -> None:
        """Ask for new credentials at half of the lifetime of those that are here."""
        text = read_credentials(self._delivery.run_dir)
        if text is None or time.time() < _half_life(text):
            return
        request = NodeRequest(attempt=self._delivery.launch.attempt, claim=self._claim)
        result = await client.ask(NodeVerb.RENEW, request)
        creds = RunCredentials.model_validate(result).creds
        replace_file(self._delivery.run_dir / CREDS_FILE, creds, mode=0o600)
        log_event("credentials.renewed")


def _exit_report(run_dir: Path) -> ExitReport | None:
    try:
        return ExitReport.model_validate_json((run_dir / EXIT_FILE).read_bytes())
    except (OSError, ValidationError):
        return None


def _half_life(creds: str) -> float:
    """Wall time at which half of the lifetime of credentials is over; never, for those without an end."""
    try:
        token = creds.split("-----BEGIN NATS USER JWT-----")[1].split()[0]
        body = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
        return float(claims["iat"] + claims["exp"]) / 2
    except (IndexError, KeyError, ValueError):
        return float("inf")
