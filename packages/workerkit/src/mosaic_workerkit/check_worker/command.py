"""The command: `python -m mosaic_workerkit.check_worker PATH [--json]`."""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from mosaic_workerkit.check_worker.checker import PARTS, CheckLimits, check_worker
from mosaic_workerkit.check_worker.report import NOT_ASKED, CheckResult, Report
from mosaic_workerkit.check_worker.worker_under_test import ManifestUnusable, read_worker

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Check one worker; returns 0 when it keeps the contract, 1 when not, 2 when there is no worker at this path."""
    options = _parser().parse_args(argv)
    defaults = CheckLimits()
    limits = CheckLimits(
        steps=options.steps or defaults.steps,
        answer_s=options.answer_timeout or defaults.answer_s,
        train_s=options.train_timeout or defaults.train_s,
        grace_s=defaults.grace_s if options.grace is None else options.grace,
        algorithms=tuple(options.algorithm),
        parts=tuple(options.only) or PARTS,
    )
    try:
        worker = read_worker(options.path, options.venvs)
    except ManifestUnusable as error:
        _say(f"{error}. PATH is a folder with worker.toml, or such a file.")
        return EXIT_USAGE
    try:
        report = check_worker(
            worker, limits, lambda what: _say(f"{worker.manifest.id}: {what} ...")
        )
    except KeyboardInterrupt:
        _say("not checked to the end; no process is left running")
        return EXIT_INTERRUPTED
    if options.json:
        print(json.dumps(report.to_json(), indent=2, allow_nan=False))  # noqa: T201 - the answer
    else:
        print(as_text(report))  # noqa: T201 - the answer
    return 0 if report.is_ok else EXIT_FAILED


def as_text(report: Report) -> str:
    """A judgement for people: one line a rule, and below a failed one what was seen and what to do.

    Rules that were not checked for the same reason share one line; those that nobody asked for are counted only.
    """
    lines: list[str] = []
    for why, results in groupby(report.results, _skipped_because):
        if why is None:
            lines += [line for result in results for line in _lines(result)]
        elif why[1] != NOT_ASKED:
            names = ", ".join(result.rule for result in results)
            lines.append(f"skipped {names}{_of(why[0])}: {why[1]}")
    counts = f"{report.count('ok')} ok, {report.count('failed')} failed"
    skipped = report.count("skipped")
    if skipped:
        counts += f", {skipped} not checked"
    word = "keeps the contract" if report.is_ok else "does not keep the contract"
    return "\n".join([*lines, "", f"{report.worker} {word}: {counts}"])


def _skipped_because(result: CheckResult) -> tuple[str, str] | None:
    return (result.subject, result.message) if result.result == "skipped" else None


def _lines(result: CheckResult) -> list[str]:
    lines = [f"{result.result:<8}{result.rule}{_of(result.subject)}: {result.claim}"]
    if result.result == "failed":
        lines += [f"        {line}" for line in result.message.splitlines()]
        lines.append(f"        To do: {result.remedy}")
    return lines


def _of(subject: str) -> str:
    return f" [{subject}]" if subject else ""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Check whether a worker keeps the contract.")
    parser.add_argument("path", type=Path, help="folder with worker.toml, or such a file")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument(
        "--algorithm", action="append", default=[], help="only this one; repeatable"
    )
    parser.add_argument("--only", action="append", choices=PARTS, default=[], help="only this part")
    parser.add_argument("--steps", type=int, help="of the short training")
    parser.add_argument("--answer-timeout", type=float, metavar="S", help="for describe and check")
    parser.add_argument("--train-timeout", type=float, metavar="S", help="for a training")
    parser.add_argument("--grace", type=float, metavar="S", help="between stop and kill")
    parser.add_argument(
        "--venvs",
        type=Path,
        default=Path(os.environ.get("MOSAIC_VENVS") or "var/venvs"),
        help="environments, for {python}",
    )
    return parser


def _say(text: str) -> None:
    print(text, file=sys.stderr)  # noqa: T201 - progress, not the answer
