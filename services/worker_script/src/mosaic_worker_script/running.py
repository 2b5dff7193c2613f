"""Runs one command line as a run, and records what is heard in it."""

import os
import sys
import time
from pathlib import Path
from typing import Any

import mosaic_hook
from mosaic_contracts.launch import ENV_RUN_DIR
from mosaic_hook.settings import VARIABLE, HookSettings
from mosaic_worker_script.adopted import AdoptedFiles
from mosaic_worker_script.command import ScriptCommand
from mosaic_worker_script.hearing import Hearing
from mosaic_worker_script.source import RecordedCode
from mosaic_worker_script.spool import SpoolReader
from mosaic_workerkit.entry import TrainContext
from mosaic_workerkit.masking import read_secrets
from mosaic_workerkit.own_files import DELETED
from mosaic_workerkit.pipe.child import STDOUT, Child, Ending
from mosaic_workerkit.pipe.errors import ProgramNotStarted
from mosaic_workerkit.pipe.lines import LineSplitter
from mosaic_workerkit.pipe.translation import Translator
from mosaic_workerkit.surroundings import surroundings_of

SPOOL = "spool"
"""Folder of the spool in a run's folder."""
START_WAIT = 0.75
"""Part of the time until a run must have an event in which a script can make its first environment. Then the config is
written without its spaces."""
LISTENED = (
    "gymnasium, gym, EnvPool, TensorBoard, W&B, mlflow, Stable-Baselines3, d3rlpy, Lightning, tqdm, rich, "
    "torch.save, safetensors"
)
"""What is listened to, for plans."""
_FILES_LOOK_S = 0.5
_OF_THE_RUNNER = "PYTHONUNBUFFERED"
"""Set by the runner for every worker. A script gets it only from the variables of its run."""
_START = Path(mosaic_hook.__file__).parent / "start"


def run_script(
    context: TrainContext,
    command: ScriptCommand,
    arguments: dict[str, Any],
    total_steps: int | None,
) -> Ending:
    """Run a command line to its end; its end becomes the run's terminal event.

    Args:
        command: with the run's seed in its place.
        arguments: of the run, for its config.
        total_steps: environment steps that the script will take; None: not known.

    Raises:
        SystemExit: it could not be started; exit code 127 or 126.
    """
    telemetry = context.telemetry
    config = _config(context.spec, command, arguments, total_steps)
    code = RecordedCode(context.run_dir, command, config)
    translator = Translator(telemetry, config, command.directory)
    files = AdoptedFiles(telemetry, context.run_dir)
    hearing = Hearing(telemetry, translator, config, files, code)
    reader = SpoolReader(context.run_dir / SPOOL, hearing.take)
    splitter = LineSplitter()
    began = time.monotonic()
    files_due = 0.0

    def on_chunk(stream: str, chunk: bytes) -> None:
        if not hearing.has_process:
            translator.note_output()
        # Lines that the script prints are events as long as nothing better is heard.
        if stream == STDOUT and not hearing.has_events:
            translator.take_all(splitter.cut(chunk))

    def on_idle() -> None:
        nonlocal files_due
        reader.read()
        hearing.release_due()
        now = time.monotonic()
        if hearing.has_process and now - began > START_WAIT * context.spec.start_deadline_s:
            translator.begin()
        elif not hearing.has_process:
            translator.tick()
        if now >= files_due:
            if telemetry.restore_files():
                telemetry.note("files", DELETED, kept=True)
            files_due = now + _FILES_LOOK_S
        if translator.has_begun:
            code.announce(telemetry)

    child = Child(
        command.argv,
        command.directory,
        _environment(context, command, reader.folder),
        context.stop,
        on_chunk,
        on_idle,
        (reader.bell, reader.hear),
    )
    try:
        ending = child.run()
    except ProgramNotStarted as error:
        print(f"MOSAIC: {error}", file=sys.stderr)  # noqa: T201 - the run's log
        translator.begin()
        telemetry.lifecycle("error", {"message": str(error)})
        sys.exit(error.exit_code)
    reader.read()
    if not hearing.has_events:
        translator.take_all(splitter.finish())
    hearing.release()
    files.finish()
    translator.begin()
    hearing.show_progress()
    code.announce(telemetry)
    _record_end(context, translator, hearing, ending)
    reader.close()
    return ending


def _record_end(
    context: TrainContext, translator: Translator, hearing: Hearing, ending: Ending
) -> None:
    telemetry = context.telemetry
    if not hearing.has_process:
        words = (
            "The script was not listened to: it is no Python program, or was started with -I, -E or -S, or dropped "
            "PYTHONPATH. Its output is in the log."
        )
        telemetry.note("not-heard", words, kept=True)
    elif not hearing.has_events and not translator.events_read:
        words = (
            "Nothing was heard: the script makes no environment of gymnasium, gym or EnvPool, and logs by none of the "
            "libraries that are listened to (docs/scripts.md). Its output is in the log."
        )
        telemetry.note("not-heard", words, kept=True)
    telemetry.extra("script.heard", {"libraries": hearing.libraries, "steps": hearing.global_step})
    data = {"message": f"the script {ending.words}", "exit_code": ending.code}
    if ending.code == 0:
        telemetry.lifecycle("stopped" if context.stop.requested else "done", data)
    else:
        phase = "stopped" if context.stop.requested else "error"
        telemetry.lifecycle(phase, {**data, "signal": ending.signal})


def _config(
    spec: Any, command: ScriptCommand, arguments: dict[str, Any], total_steps: int | None
) -> dict[str, Any]:
    return {
        "algorithm": spec.algorithm,
        "environment": spec.environment,
        "seed": spec.seed,
        "argv": command.argv,
        "directory": str(command.directory),
        "arguments": arguments,
        "num_envs": 1,
        "spaces": {},
        "packages": {},
        "record": spec.record.value,
        "total_steps": total_steps,
        "surroundings": surroundings_of(spec),
    }


def _environment(context: TrainContext, command: ScriptCommand, spool: Path) -> dict[str, str]:
    """The script's environment: the stack's, the run's secrets by name, then what the run gives it.

    Its interpreter comes first in PATH, and the hook in front of PYTHONPATH.
    """
    spec = context.spec
    secrets = {
        name: value.rstrip("\n")
        for name, value in read_secrets(os.environ).items()
        if name in spec.secrets and value is not None
    }
    around = {name: value for name, value in os.environ.items() if name != _OF_THE_RUNNER}
    environment = {**around, **secrets, **command.variables, ENV_RUN_DIR: str(context.run_dir)}
    environment["PATH"] = command.search_path(environment)
    prefix = Path(command.argv[0]).parent.parent
    if "VIRTUAL_ENV" not in command.variables and (prefix / "pyvenv.cfg").is_file():
        environment["VIRTUAL_ENV"] = str(prefix)
    paths = [str(_START), environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = ":".join(path for path in paths if path)
    environment[VARIABLE] = HookSettings(str(spool), spec.record.value, spec.replay_every).text()
    return environment
