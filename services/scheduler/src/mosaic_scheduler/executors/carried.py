"""A job's script that carries a run to a machine which shares no folder with this one.

It holds `launch.json` and the run's broker credentials, which are for this run alone and end with it. The runner
fetches spec, secrets, logins and inputs once the scheduler has granted it the attempt.
"""

import base64
import io
import shlex
import tarfile
import textwrap
from pathlib import Path

from mosaic_contracts import launch
from mosaic_scheduler.errors import LaunchFailed
from mosaic_scheduler.executors.job_start import NO_PROGRAM, JobStart, start_in_environment
from mosaic_scheduler.executors.protocol import LaunchSpec
from mosaic_scheduler.executors.run_folder import RunFolder

EXIT_FOREIGN = 77
"""Exit code of the script: the folder for runs cannot be made on the node, or is another user's."""
EXIT_FULL = 73
"""Exit code of the script: the run's folder cannot be written on the node (`EX_CANTCREAT` of sysexits.h)."""
_EXITS = {
    EXIT_FULL: "the run's folder below {home} cannot be written: the disk there is full, or has errors",
    75: (
        "nobody granted it the start in time. Its node must reach the broker: start the stack with `--broker-bind "
        "0.0.0.0` and, where nodes know this machine by another name, `--broker-runs-url tls://HOST:PORT`. A job that "
        "waited for more than 7 days has credentials that have ended: `./mosaic retry` gives it new ones"
    ),
    76: "its attempt was begun before, or has ended",
    EXIT_FOREIGN: (
        "{home} cannot be made there, or belongs to another user. Choose a folder of your own, e.g. `--node-home "
        "/tmp/mosaic-$USER`"
    ),
    126: "{python} cannot be run there",
    NO_PROGRAM: "{python} is not there: the workers' environments must be at the same path on all nodes",
}
_END = "MOSAIC_END_OF_FOLDER"
_WIDTH = 100


def refuse_xmpp(launch_spec: LaunchSpec) -> None:
    """Refuse an attempt that needs this machine's XMPP server.

    Raises:
        LaunchFailed: it does.
    """
    if launch_spec.xmpp is not None:
        raise LaunchFailed(
            "Its agents talk over XMPP, which nodes that share no folder with this machine do not reach: start the "
            "stack without `--node-home`."
        )


def carried_script(
    folder: RunFolder,
    there: RunFolder,
    launch_spec: LaunchSpec,
    start: JobStart | None = None,
    *,
    removes_itself: bool = False,
) -> str:
    """The script.

    Args:
        folder: of the run here, prepared.
        there: the folder as it is to be on the node.
        launch_spec: of the attempt.
        start: how the runner is started; None: in the node's environment.
        removes_itself: whether it removes its own file first, for engines that would keep it on the node.

    Raises:
        OSError: a file of the prepared folder cannot be read.
    """
    checks, exports, argv = start or start_in_environment(there, launch_spec)
    place = shlex.quote(str(there.path))
    runs, home = shlex.quote(str(there.path.parent)), shlex.quote(str(there.path.parent.parent))
    foreign = shlex.quote(
        exit_words(EXIT_FOREIGN, str(there.path.parent.parent), launch_spec.python)
    )
    text = base64.b64encode(_packed(folder.path, there, launch_spec)).decode()
    return "\n".join(
        [
            "#!/bin/sh",
            "# Written by MOSAIC. The runner takes the place of the shell, so that signals to the script reach it.",
            "umask 077",
            "set -e",
            *(['rm -f -- "$0"'] if removes_itself else []),
            *checks,
            *exports,
            # Secrets will lie below: nobody else may move these folders.
            f'is_safe() {{ test -O {home} || test "$(stat -c %u {home})" = 0; }}',
            f"own() {{ mkdir -p {runs} && test -O {runs} && is_safe; }}",
            f"own || {{ echo {foreign} >&2; exit {EXIT_FOREIGN}; }}",
            f"mkdir -p {place}/logs || exit {EXIT_FULL}",
            f"cd {place}",
            f"base64 -d <<'{_END}' | tar -xzf - || exit {EXIT_FULL}",
            *textwrap.wrap(text, _WIDTH),
            _END,
            f"true >>{launch.RUNNER_LOG} || exit {EXIT_FULL}",
            f"exec {shlex.join(argv)} >>{launch.RUNNER_LOG} 2>&1",
            "",
        ]
    )


def exit_words(code: int, node_home: str, python: str) -> str:
    """Why a job ended before its runner could say so to the scheduler; empty: the code has no meaning of its own."""
    return _EXITS.get(code, "").format(home=node_home, python=python)


def _packed(folder: Path, there: RunFolder, launch_spec: LaunchSpec) -> bytes:
    files = {launch.LAUNCH_FILE: there.launch_of(launch_spec).model_dump_json().encode()}
    if launch_spec.write_creds is not None:
        files[launch.CREDS_FILE] = (folder / launch.CREDS_FILE).read_bytes()
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), 0o600
            archive.addfile(entry, io.BytesIO(data))
    return packed.getvalue()
