"""The command: `python -m mosaic_workerkit.conformance PATH [--json]`."""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from mosaic_workerkit.conformance.candidate import read_candidate
from mosaic_workerkit.conformance.errors import ManifestUnusable
from mosaic_workerkit.conformance.judge import PARTS, Limits, judge
from mosaic_workerkit.conformance.verdict import NOT_ASKED, Judgement, Verdict

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Judge one worker; returns 0 when it keeps the contract, 1 when not, 2 when there is none to judge."""
    options = _parser().parse_args(argv)
    defaults = Limits()
    limits = Limits(
        steps=options.steps or defaults.steps,
        answer_s=options.answer_timeout or defaults.answer_s,
        train_s=options.train_timeout or defaults.train_s,
        grace_s=defaults.grace_s if options.grace is None else options.grace,
        algorithms=tuple(options.algorithm),
        parts=tuple(options.only) or PARTS,
    )
    try:
        candidate = read_candidate(options.path, options.venvs)
    except ManifestUnusable as error:
        _say(f"{error}. PATH is a folder with worker.toml, or such a file.")
        return EXIT_USAGE
    try:
        judgement = judge(
            candidate, limits, lambda what: _say(f"{candidate.manifest.id}: {what} ...")
        )
    except KeyboardInterrupt:
        _say("not judged to the end; nothing of it is left running")
        return EXIT_INTERRUPTED
    if options.json:
        print(json.dumps(judgement.to_json(), indent=2, allow_nan=False))  # noqa: T201 - the answer
    else:
        print(as_text(judgement))  # noqa: T201 - the answer
    return 0 if judgement.is_ok else EXIT_FAILED


def as_text(judgement: Judgement) -> str:
    """A judgement for people: one line a rule, and below a failed one what was seen and what to do.

    Rules that were not judged for the same reason share one line; those that nobody asked for are counted only.
    """
    lines: list[str] = []
    for why, verdicts in groupby(judgement.verdicts, _skipped_because):
        if why is None:
            lines += [line for verdict in verdicts for line in _lines(verdict)]
        elif why[1] != NOT_ASKED:
            names = ", ".join(verdict.rule for verdict in verdicts)
            lines.append(f"skipped {names}{_of(why[0])}: {why[1]}")
    counts = f"{judgement.count('ok')} ok, {judgement.count('failed')} failed"
    skipped = judgement.count("skipped")
    if skipped:
        counts += f", {skipped} not judged"
    word = "keeps the contract" if judgement.is_ok else "does not keep the contract"
    return "\n".join([*lines, "", f"{judgement.worker} {word}: {counts}"])


def _skipped_because(verdict: Verdict) -> tuple[str, str] | None:
    return (verdict.subject, verdict.message) if verdict.result == "skipped" else None


def _lines(verdict: Verdict) -> list[str]:
    lines = [f"{verdict.result:<8}{verdict.rule}{_of(verdict.subject)}: {verdict.claim}"]
    if verdict.result == "failed":
        lines += [f"        {line}" for line in verdict.message.splitlines()]
        lines.append(f"        To do: {verdict.remedy}")
    return lines


def _of(subject: str) -> str:
    return f" [{subject}]" if subject else ""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Judge whether a worker keeps the contract.")
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
        help="environments of the rooms, for {python}",
    )
    return parser


def _say(text: str) -> None:
    print(text, file=sys.stderr)  # noqa: T201 - progress, beside the answer
