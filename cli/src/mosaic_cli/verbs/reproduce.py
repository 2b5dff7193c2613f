"""`reproduce`: a run once more, and whether it did the same."""

from typing import TYPE_CHECKING, Annotated

import typer

from mosaic_cli import option
from mosaic_cli.errors import EvaluationFailed, ValueRefused
from mosaic_cli.exit_code import ExitCode
from mosaic_cli.output import emit, err, out, say
from mosaic_cli.reference import find_run
from mosaic_cli.target import open_client

if TYPE_CHECKING:
    from mosaic_client import Client
    from mosaic_contracts.comparisons import ReproductionResult
    from mosaic_contracts.runs import RunView

_OTHER_LOCK = (
    "The worker's lock has changed since the first run: its packages are those of today. An earlier lock is not "
    "installed again. To have it, check out the commit whose lock it is (`git log -- services/WORKER/*.lock`), run "
    "`./mosaic sync WORKER` there, and reproduce with that checkout."
)
_OTHER_IMAGE = (
    "The runs had different images. To use the earlier one, tag it in the engine with the name that the worker's "
    "`worker.toml` has."
)
_OTHER_CODE = (
    "The code has changed since the first run. To have that code: `git checkout COMMIT` in a clean checkout, then "
    "`git apply source/changes.diff` where the run has that file (`./mosaic download RUN source/changes.diff`)."
)
_OTHER_PACKAGES = (
    "A run of a script of your own has its packages in source/requirements.txt (`./mosaic download RUN "
    "source/requirements.txt`), for `pip install -r`."
)
_CODES = {"identical": ExitCode.DONE, "same": ExitCode.SIMILAR, "different": ExitCode.DIFFERENT}


def reproduce(
    run: option.Run,
    with_: Annotated[
        str | None,
        typer.Option("--with", metavar="RUN", help="Compare with this run instead of a new one."),
    ] = None,
    json: option.Json = False,
) -> None:
    """Run a training once more, and say whether it did the same: identical, statistically the same, or different.

    The new run has the same spec and seed, with the run as its parent. Identical means the return and length of every
    episode and the tensors of every checkpoint. Exit code 0: identical, 8: statistically the same, 7: different.
    Ctrl-C stops the new run. The worker's environment is as it is now: an earlier lock or image is not installed
    again, and the verdict says where it differs. --json prints a ReproductionResult.
    """
    with open_client() as client:
        first = client.run(find_run(client, run).run_id)
        if first.spec.kind.value != "train":
            raise ValueRefused(
                f"{first.run_id} is a run of kind {first.spec.kind.value}; a training is reproduced. "
                "`./mosaic replay RUN --episode N --verify` rebuilds an episode."
            )
        earlier = None if with_ is None else client.run(find_run(client, with_).run_id)
        second = earlier or _repeated(client, first)
        result = _compared(client, first, second)
    if json:
        emit(result)
    else:
        _print(result)
    raise typer.Exit(_CODES[result.verdict])


def _repeated(client: "Client", run: "RunView") -> "RunView":
    """Run it once more, to its end; Ctrl-C stops it."""
    from mosaic_cli.follow import follow_run

    started = client.retry(run.run_id)
    say(f"Run {started.run_id} repeats {run.run_id}. Ctrl-C stops it.")
    if run.worker_lock is not None and started.worker_lock != run.worker_lock:
        say(_OTHER_LOCK)
    try:
        ended = follow_run(client, started, err)
    except KeyboardInterrupt:
        say("Stopping the run ...")
        client.stop(started.run_id)
        raise
    if ended.state.value != "succeeded" and run.state.value == "succeeded":
        how = ended.state.value if ended.end is None else ended.end.message
        raise EvaluationFailed(f"{ended.run_id} did not come to its end: {how}")
    return ended


def _compared(client: "Client", first: "RunView", second: "RunView") -> "ReproductionResult":
    from mosaic_cli.comparing import reproducing
    from mosaic_cli.comparing.analysing import analyse
    from mosaic_contracts.comparisons import ReproductionResult, SamenessDocument, SamenessResult

    episodes = [reproducing.ended_episodes(client, run) for run in (first, second)]
    if not all(episodes):
        raise EvaluationFailed("One of the runs recorded no complete episode: nothing is compared.")
    result = ReproductionResult(
        first=first.run_id,
        second=second.run_id,
        verdict="identical",
        episodes=[len(each) for each in episodes],
        digests=[reproducing.digest_of(each) for each in episodes],
        differs_from=reproducing.first_difference(*episodes),
        checkpoints=reproducing.compare_checkpoints(client, first, second),
        surroundings=reproducing.differing_facts(client, first, second),
    )
    if result.differs_from is not None:
        rest = [
            [episode.episode_return for episode in each[result.differs_from - 1 :]]
            for each in episodes
        ]
        sameness = analyse(SamenessDocument(first=rest[0], second=rest[1]), None)
        assert isinstance(sameness, SamenessResult)  # noqa: S101 - the kind of the document
        result.sameness = sameness
        result.verdict = "same" if sameness.is_same else "different"
    elif not all(checkpoint.is_equal for checkpoint in result.checkpoints):
        result.verdict = "same"
    return result


def _print(result: "ReproductionResult") -> None:
    first, second = result.episodes
    equal = sum(checkpoint.is_equal for checkpoint in result.checkpoints)
    files = f"{equal} of {len(result.checkpoints)} checkpoints have equal tensors"
    if result.verdict == "identical":
        out.print(f"identical: {first:,} episodes; {files}.", style="green")
    else:
        word = "statistically the same" if result.verdict == "same" else "different"
        place = ""
        if result.differs_from is not None:
            place = f" from episode {result.differs_from:,} on"
        out.print(
            f"{word}, not identical{place} ({first:,} and {second:,} episodes; {files}).",
            style="yellow",
        )
    if result.sameness is not None:
        out.print(_test_words(result), soft_wrap=True)
    changed = {fact.what for fact in result.surroundings}
    if result.surroundings:
        out.print("Not the same around the two runs:")
    for fact in result.surroundings:
        absent = "not given" if fact.what.startswith("spec.") else "not recorded"
        there, here = fact.first or absent, fact.second or absent
        out.print(f"  {fact.what}: {there}; now {here}", soft_wrap=True)
    for what, words in (("worker_lock", _OTHER_LOCK), ("image", _OTHER_IMAGE)):
        if what in changed:
            out.print(words, soft_wrap=True)
    if any(what.startswith("code.") for what in changed):
        out.print(_OTHER_CODE, soft_wrap=True)
    if any(what.startswith("packages.") for what in changed):
        out.print(_OTHER_PACKAGES, soft_wrap=True)
    if result.verdict != "identical" and not result.surroundings:
        out.print("Nothing differs in the recorded surroundings.")


def _test_words(result: "ReproductionResult") -> str:
    found = result.sameness
    if found is None or found.p_value is None:
        counts = " and ".join(str(count) for count in found.episodes) if found else ""
        return f"There are too few episodes from there on for a test ({counts})."
    return (
        f"Kolmogorov-Smirnov test of the returns from there on: D = {found.statistic:.3f}, p = {found.p_value:.3g}; "
        "below 0.05 they are different."
    )
