"""Asks whether this runner may start the attempt, and fetches what the run begins with.

The runner runs it (`python -m mosaic_workerkit.shipper.begin --run-dir DIR`) where the scheduler sees no such folder.
An engine may start a job twice, also on another machine: one runner is granted the attempt.

Exit 0: granted, and all files are here; 75: nobody answered in time; 76: the attempt was begun elsewhere, or has ended.
"""

import argparse
import asyncio
import os
import secrets
import shutil
import socket
import sys
import time
from pathlib import Path

import nats.errors
from pydantic import ValidationError

from mosaic_base.atomic import replace_file
from mosaic_base.backoff import Backoff
from mosaic_contracts.launch import LAUNCH_FILE, RUNNER_LOG, Launch
from mosaic_contracts.nodes import (
    BEGUN_FILE,
    EARLIER_LOGS,
    LOGS,
    BeginAnswer,
    BeginRequest,
    Begun,
    NodeFile,
    NodeVerb,
    ReadRequest,
)
from mosaic_workerkit.errors import (
    BrokerNotTrusted,
    CredentialsRefused,
    NodeRefused,
    NodeUnanswered,
)
from mosaic_workerkit.shipper.connection import close, connect, read_credentials
from mosaic_workerkit.shipper.log import log_event
from mosaic_workerkit.shipper.node_client import NodeClient

EXIT_UNREADABLE = 2
EXIT_UNANSWERED = 75
EXIT_BEGUN_ELSEWHERE = 76
_FIRST_WAIT_S = 0.1
_LONGEST_WAIT_S = 2.0


def main() -> int:
    """Run as a program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run-dir", type=Path, required=True)
    run_dir = parser.parse_args().run_dir.resolve()
    try:
        launch = Launch.model_validate_json((run_dir / LAUNCH_FILE).read_text())
    except (OSError, ValidationError) as error:
        log_event("begin.refused", error=f"cannot read {LAUNCH_FILE}: {error}")
        return EXIT_UNREADABLE
    return asyncio.run(_begin(run_dir, launch))


async def _begin(run_dir: Path, launch: Launch) -> int:
    claim, backoff = secrets.token_hex(16), Backoff(_FIRST_WAIT_S, _LONGEST_WAIT_S)
    deadline, said = time.monotonic() + launch.begin_s, ""
    while time.monotonic() < deadline:
        try:
            await _fetch_all(run_dir, launch, claim)
        except NodeRefused as error:
            log_event("begin.refused", error=str(error))
            return EXIT_BEGUN_ELSEWHERE
        except (
            *(OSError, nats.errors.Error, asyncio.TimeoutError),
            *(NodeUnanswered, CredentialsRefused, BrokerNotTrusted),
        ) as error:
            if said != str(error):
                said = str(error)
                log_event("begin.waits", error=f"{type(error).__name__}: {said}")
            await asyncio.sleep(backoff.next_s())
        else:
            log_event("begin.granted", node=socket.gethostname())
            return 0
    log_event("begin.unanswered", after_s=launch.begin_s, error=said)
    return EXIT_UNANSWERED


async def _fetch_all(run_dir: Path, launch: Launch, claim: str) -> None:
    connection = await connect(launch, read_credentials(run_dir), "begin", _on_closed, _on_error)
    try:
        await _fetch(run_dir, launch, claim, NodeClient(connection, launch))
    finally:
        await close(connection)


async def _fetch(run_dir: Path, launch: Launch, claim: str, client: NodeClient) -> None:
    node = socket.gethostname()
    request = BeginRequest(attempt=launch.attempt, claim=claim, nonce=launch.nonce, node=node)
    answer = BeginAnswer.model_validate(await client.ask(NodeVerb.BEGIN, request))
    for file in answer.files:
        await _fetch_file(run_dir, launch, claim, client, file)
    _set_logs_aside(run_dir, launch.attempt)
    begun = Begun(attempt=launch.attempt, claim=claim, node=node, begun_at=time.time())
    replace_file(run_dir / BEGUN_FILE, begun.model_dump_json(), mode=0o600)


async def _fetch_file(
    run_dir: Path, launch: Launch, claim: str, client: NodeClient, file: NodeFile
) -> None:
    target = (run_dir / file.path).resolve()
    if not target.is_relative_to(run_dir):
        raise NodeUnanswered(f"{file.path} leaves the run's folder")
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft, offset = target.with_name(f".{target.name}.part"), 0
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        while True:
            read = ReadRequest(attempt=launch.attempt, claim=claim, path=file.path, offset=offset)
            data, total = await client.read(read)
            _write(fd, data)
            offset += len(data)
            if offset >= total:
                break
            if not data:
                raise NodeUnanswered(f"{file.path} ends at {offset} of {total} bytes")
        os.fchmod(fd, file.mode)
    finally:
        os.close(fd)
    draft.replace(target)


def _set_logs_aside(run_dir: Path, attempt: int) -> None:
    """Move the logs of an earlier attempt on this machine away: the stack adds those of this one to what it has.

    The runner's own log is open, so its text is moved. Raises OSError.
    """
    folder, aside = run_dir / LOGS, run_dir / EARLIER_LOGS / f"before_{attempt}"
    earlier = [path for path in folder.iterdir() if path != run_dir / RUNNER_LOG]
    if attempt == 1 or not earlier:
        return
    aside.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (run_dir / RUNNER_LOG).open("rb+") as log, (aside / "runner.log").open("ab") as copy:
        shutil.copyfileobj(log, copy)
        log.truncate(0)
    for path in earlier:
        path.replace(aside / path.name)


def _write(fd: int, data: bytes) -> None:
    """All of it: a disk that gets full takes a part, and refuses the rest. Raises OSError."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


async def _on_closed() -> None:
    return


async def _on_error(error: Exception) -> None:
    log_event("broker.error", error=f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    sys.exit(main())
