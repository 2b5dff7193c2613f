"""Sends alerts to their targets: at least once, again after a failure, and not for ever.

A scheduler that is killed between a try and its note tries again; `delivery` in what is sent is the same then.
"""

import asyncio
import contextlib
import json
import os
import signal
import time
from collections.abc import Sequence

import requests

from mosaic_contracts.alerts import AlertTargetFile, DeliveryView
from mosaic_scheduler.alerts import ledger
from mosaic_scheduler.alerts.ledger import DueDelivery
from mosaic_scheduler.alerts.targets import AlertTargets
from mosaic_scheduler.database import Database
from mosaic_scheduler.errors import AlertTargetUnknown
from mosaic_servicekit.logging import get_log
from mosaic_servicekit.waiting import wait_up_to

CONNECT_S, ANSWER_S = 5.0, 10.0
"""Longest wait for a webhook's connection and for its answer."""
COMMAND_S = 30.0
"""Time limit of a command; it is killed after that, with all that it started."""
PAUSES_S = (1.0, 5.0, 30.0, 120.0, 600.0)
"""Pauses after failed tries. After one more try it is given up."""
_FOREVER_S = 3600.0
_ENVIRONMENT = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TZ", "TMPDIR"),
    *("DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"),
)
"""Variables that a command gets: nothing of the stack."""
_SHOWN = 200
_TRY_AGAIN = frozenset({408, 425, 429})
"""Client errors that may pass."""


class DeliveryFailed(Exception):
    """A try failed; the message says why, without the secrets of the target. `is_final`: another would fail, too."""

    def __init__(self, why: str, *, is_final: bool = False) -> None:
        super().__init__(why)
        self.is_final = is_final


class AlertDeliveries:
    """The loop that sends."""

    def __init__(self, database: Database, targets: AlertTargets, due: asyncio.Event) -> None:
        """`due`: set when there is a new delivery."""
        self._database = database
        self._targets = targets
        self._due = due

    async def run(self) -> None:
        """Send for ever: to each target one after the other, to all of them at once."""
        while True:
            self._due.clear()
            waiting = await self._database.call(ledger.due_deliveries)
            now = time.time()
            ready = [one for one in waiting if one.due_at <= now]
            by_target: dict[str, list[DueDelivery]] = {}
            for one in ready:
                by_target.setdefault(one.target, []).append(one)
            await asyncio.gather(*(self._send_all(several) for several in by_target.values()))
            if not ready:
                next_s = min((one.due_at for one in waiting), default=now + _FOREVER_S) - now
                await wait_up_to(self._due, max(0.0, next_s))

    async def test(self, name: str, body: str) -> DeliveryView:
        """Send one body once. Raises AlertTargetUnknown."""
        target = (await asyncio.to_thread(self._targets.all)).get(name)
        if target is None:
            raise AlertTargetUnknown(name)
        try:
            await self._send(target, body)
        except DeliveryFailed as error:
            return DeliveryView(target=name, state="failed", tries=1, problem=str(error))
        return DeliveryView(target=name, state="delivered", tries=1)

    async def _send_all(self, several: Sequence[DueDelivery]) -> None:
        for one in several:
            await self._try(one)

    async def _try(self, one: DueDelivery) -> None:
        target = (await asyncio.to_thread(self._targets.all)).get(one.target)
        state, due_at, problem = ledger.DELIVERED, 0.0, ""
        try:
            if target is None:
                raise DeliveryFailed("the target was removed", is_final=True)
            await self._send(target, one.body)
        except DeliveryFailed as error:
            problem = str(error)
            is_last = error.is_final or one.tries >= len(PAUSES_S)
            state = ledger.FAILED if is_last else ledger.WAITING
            due_at = time.time() + (0.0 if is_last else PAUSES_S[one.tries])
            get_log().warning(
                "alert.not_delivered",
                target=one.target,
                delivery=one.delivery,
                why=problem,
                tries=one.tries + 1,
                gives_up=is_last,
            )
        await self._database.call(ledger.note_delivery, one.delivery, state, due_at, problem)

    async def _send(self, target: AlertTargetFile, body: str) -> None:
        if target.kind == "webhook":
            await asyncio.to_thread(_post, target, body)
        else:
            await _run_command(target.argv, body, str(self._targets.home))


def _post(target: AlertTargetFile, body: str) -> None:
    """POST to a webhook. Nothing of an error is quoted: it has the address, which may be a secret."""
    headers = {"Content-Type": "application/json", "User-Agent": "MOSAIC"}
    headers["Mosaic-Delivery"] = json.loads(body)["delivery"]
    if target.authorization:
        headers["Authorization"] = target.authorization
    host = target.shown.removesuffix("/***")
    try:
        with requests.Session() as session:
            session.trust_env = False  # ~/.netrc is no consent
            answer = session.post(
                target.url,
                data=body.encode(),
                headers=headers,
                timeout=(CONNECT_S, ANSWER_S),
                allow_redirects=False,
                stream=True,
                proxies=requests.utils.get_environ_proxies(target.url),
            )
            status = answer.status_code
            answer.close()
    except requests.Timeout:
        raise DeliveryFailed(f"{host} did not answer within {ANSWER_S:.0f} s") from None
    except requests.ConnectionError:
        raise DeliveryFailed(f"{host} could not be reached") from None
    except (requests.RequestException, ValueError) as error:
        raise DeliveryFailed(f"{host} could not be asked ({type(error).__name__})") from None
    if 200 <= status < 300:
        return
    moved = "; redirects are not followed" if 300 <= status < 400 else ""
    is_final = 300 <= status < 500 and status not in _TRY_AGAIN
    raise DeliveryFailed(f"{host} answered {status}{moved}", is_final=is_final)


async def _run_command(argv: Sequence[str], body: str, folder: str) -> None:
    environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            cwd=folder,
            env=environment,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it cannot be started"
        raise DeliveryFailed(f"{argv[0]}: {why}", is_final=True) from None
    try:
        async with asyncio.timeout(COMMAND_S):
            _, said = await process.communicate(body.encode())
    except TimeoutError:
        raise DeliveryFailed(f"{argv[0]} did not end within {COMMAND_S:.0f} s") from None
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # what it may have left behind
        await process.wait()
    if process.returncode:
        last = said.decode(errors="replace").strip().splitlines()[-1:]
        words = f": {last[0][:_SHOWN]}" if last else ""
        raise DeliveryFailed(f"{argv[0]} ended with {process.returncode}{words}")
