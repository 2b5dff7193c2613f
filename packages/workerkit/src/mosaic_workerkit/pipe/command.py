"""The command `mosaic-pipe`: as a worker, inside a run, or to try out a program's output."""

import argparse
import json
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from mosaic_contracts.launch import ENV_RUN_DIR
from mosaic_contracts.spec import RunSpec
from mosaic_workerkit.entry import main as serve
from mosaic_workerkit.pipe.child import Ending, die_by
from mosaic_workerkit.pipe.errors import ProgramFileInvalid
from mosaic_workerkit.pipe.making import make_worker
from mosaic_workerkit.pipe.program import read_program_file
from mosaic_workerkit.pipe.schema import line_schema
from mosaic_workerkit.pipe.trial import try_program
from mosaic_workerkit.pipe.worker import BareProgram, PipeWorker

_USAGE = """\
mosaic-pipe [--run-dir DIR | --events FILE] -- PROGRAM [ARGS]
       mosaic-pipe PROGRAM.toml describe | check | train --run-dir DIR
       mosaic-pipe --make-worker FOLDER -- PROGRAM [ARGS with {seed}, {steps=N}, {name=value}, {--name/--no-name}]
       mosaic-pipe --schema"""


def main(argv: Sequence[str] | None = None) -> int:
    """Serve one command; returns the exit code, or ends by the signal that ended the program."""
    words = list(sys.argv[1:] if argv is None else argv)
    if words and words[0].endswith(".toml"):
        return _serve_file(Path(words[0]), words[1:])
    before, program = _split(words)
    options = _parser().parse_args(before)
    if options.schema:
        print(json.dumps(line_schema(), indent=2))  # noqa: T201 - the answer
        return 0
    if not program:
        _parser().error("name a program after --")
    if options.make_worker is not None:
        return _make(options.make_worker, program)
    events = None if options.events is None else options.events.resolve()
    return _run_bare(program, options.run_dir or _run_dir_around(), events)


def _serve_file(path: Path, words: list[str]) -> int:
    try:
        file = read_program_file(path)
    except ProgramFileInvalid as error:
        print(f"mosaic-pipe: {error}", file=sys.stderr)  # noqa: T201 - said to a person
        return 2
    return _truthful(PipeWorker(file, path.resolve().parent), words)


def _run_bare(program: list[str], run_dir: Path | None, events: Path | None) -> int:
    """A program that no file describes: in the run around it, else as a trial."""
    worker = BareProgram(program, Path.cwd())
    if run_dir is not None:
        return _truthful(worker, ["train", "--run-dir", str(run_dir)])
    spec = RunSpec(worker="program", algorithm=Path(program[0]).name[:200], environment="unknown")
    code = try_program(
        lambda folder: serve(worker, ["train", "--run-dir", str(folder)]), spec, events
    )
    return _end_as(worker.ending, code)


def _make(folder: Path, program: list[str]) -> int:
    try:
        files = make_worker(folder, program, Path.cwd())
    except (ProgramFileInvalid, OSError) as error:
        print(f"mosaic-pipe: {error}", file=sys.stderr)  # noqa: T201 - said to a person
        return 2
    name, whole = read_program_file(files[1]).id, shlex.quote(str(folder.resolve()))
    print(  # noqa: T201 - the answer
        f"made {files[0]} and {files[1]}; next, in the checkout:\n"
        f"  ./mosaic worker-check {whole}\n"
        f"  mkdir -p var/workers.d && ln -s {whole} var/workers.d/\n"
        f"  ./mosaic run {name} train ENVIRONMENT"
    )
    return 0


def _truthful(worker: PipeWorker | BareProgram, words: list[str]) -> int:
    code = serve(worker, words)
    return _end_as(worker.ending, code)


def _end_as(ending: Ending | None, code: int) -> int:
    if ending is not None and ending.signal is not None:
        die_by(ending.signal)
    return code


def _split(words: list[str]) -> tuple[list[str], list[str]]:
    if "--" not in words:
        return words, []
    at = words.index("--")
    return words[:at], words[at + 1 :]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="mosaic-pipe", usage=_USAGE, description="Makes a run of what a program prints."
    )
    parser.add_argument("--run-dir", type=Path, help="the run; default is the one around this")
    parser.add_argument(
        "--events", type=Path, help="outside a run: where to write the events as JSON lines"
    )
    parser.add_argument("--make-worker", type=Path, metavar="FOLDER", help="write a worker's files")
    parser.add_argument("--schema", action="store_true", help="print the lines' JSON Schema")
    return parser


def _run_dir_around() -> Path | None:
    named = os.environ.get(ENV_RUN_DIR)
    return Path(named) if named else None
