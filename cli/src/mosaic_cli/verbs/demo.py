"""`demo`: one real training run from nothing, with a stack of its own where none is up."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from mosaic_cli import option
from mosaic_cli.command_name import with_command_name
from mosaic_cli.exit_code import ExitCode, code_of_state
from mosaic_cli.output import emit, err, out, say
from mosaic_cli.stack.launch import take_down
from mosaic_cli.stack.layout import Layout
from mosaic_cli.stack.lone_run import going_on_text, lone_runs
from mosaic_cli.stack.start_options import StartOptions
from mosaic_cli.summary import print_summary, run_result
from mosaic_cli.target import is_elsewhere, open_client
from mosaic_cli.verbs.stack import present_stack, start_and_wait
from mosaic_contracts.choices import RecordLevel

if TYPE_CHECKING:
    from mosaic_client import Client
    from mosaic_contracts.runs import RunView
    from mosaic_contracts.spec import RunSpec

DEFAULT_STEPS = 50_000
GRACE_S = 10.0
"""The demo's agent reaches a safe point within a second."""


def demo(
    steps: Annotated[
        int | None, typer.Option(min=1, help="Environment steps to train; default about 50,000.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of the run.")] = 1,
    record: Annotated[
        RecordLevel, typer.Option(help="How much of each step is recorded.")
    ] = RecordLevel.REPLAY,
    json: option.Json = False,
) -> None:
    """Train a real agent (PPO on CartPole-v1) and show what was recorded; takes about a minute.

    Uses the stack that is up, else starts one and takes it down at the end. Ctrl-C stops the run.
    """
    from mosaic_contracts.spec import RunSpec

    spec = RunSpec(
        worker="cleanrl",
        algorithm="ppo",
        environment="CartPole-v1",
        steps=steps or DEFAULT_STEPS,
        seed=seed,
        record=record,
        grace_s=GRACE_S,
    )
    layout = Layout.of_environment()
    with _stack(layout) as is_ours, open_client() as client:
        if steps is None:
            spec = _in_whole_batches(client, spec)
        run, interrupted = _train(client, spec)
        artifacts = client.artifacts(run.run_id)
    if json:
        emit(run_result(run))
    else:
        print_summary(out, run, artifacts, layout.home)
        _print_next(is_ours)
    raise typer.Exit(ExitCode.INTERRUPTED if interrupted else code_of_state(run.state))


def _in_whole_batches(client: "Client", spec: "RunSpec") -> "RunSpec":
    """The spec with the steps that its script really takes: nobody is to be warned of a number that is ours."""
    taken = client.check(spec).plan.get("total_steps")
    return spec.model_copy(update={"steps": taken}) if isinstance(taken, int) and taken else spec


@contextmanager
def _stack(layout: Layout) -> Iterator[bool]:
    """A stack that is up. Gives whether it is ours; only then it is taken down afterwards."""
    if is_elsewhere():
        yield False
        return
    if present_stack(layout) is not None:
        yield False
        return
    try:
        # tied: should this process be killed, the stack ends too
        start_and_wait(layout, StartOptions(), tied=True)
        yield True
    finally:
        with _ctrl_c_ignored(), err.status("Taking the demo's stack down ..."):
            take_down(layout)
        if others := [run.run_id for run in lone_runs(layout.home)]:
            say(going_on_text(others))


def _train(client: "Client", spec: "RunSpec") -> "tuple[RunView, bool]":
    from mosaic_cli.follow import follow_run  # imports the live connection and its models

    with _ctrl_c_kept_back() as pressed:
        run = client.submit(spec)  # cut off here, nobody would know which run to stop
    say(
        f"Run {run.run_id}: {spec.algorithm} on {spec.environment}, seed {spec.seed}. Ctrl-C stops it."
    )
    try:
        if not pressed:
            return follow_run(client, run, err), False
    except KeyboardInterrupt:
        pass
    with _ctrl_c_ignored():
        say("Stopping the run at its next safe point ...")
        run = client.run(run.run_id)
        if not run.state.is_final:
            run = client.stop(run.run_id)
        return follow_run(client, run, err, cursor=None), True


@contextmanager
def _ctrl_c_kept_back() -> Iterator[list[int]]:
    """Only notes a Ctrl-C in the list that it gives."""
    pressed: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _frame: pressed.append(number))
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _ctrl_c_ignored() -> Iterator[None]:
    """What is under way here ends by itself within a bound; leaving it half done would leave processes."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _print_next(was_ours: bool) -> None:
    commands = [
        ("./mosaic episodes last", "every episode it played"),
        ("./mosaic metrics last charts/SPS", "a curve of its training"),
        ("./mosaic run cleanrl dqn CartPole-v1", "train another one"),
    ]
    if was_ours:
        commands = [("./mosaic up -d", "start a stack that stays"), commands[0], commands[2]]
    out.print("\nNext:")
    for command, words in commands:
        out.print(Text.assemble("  ", (f"{with_command_name(command):<38}", "bold"), f" {words}"))
    sys.stdout.flush()
