"""`replay` and `watch`: see an episode again, or a run as it acts."""

from typing import Annotated

import typer

from mosaic_cli import option
from mosaic_cli.episode_choice import WantedEpisode, find_episode
from mosaic_cli.errors import EnvironmentMissing, NothingToWatch, NoWindow
from mosaic_cli.exit_code import ExitCode
from mosaic_cli.output import emit, say
from mosaic_cli.reference import find_run
from mosaic_cli.target import open_client, open_stack
from mosaic_client import light


def replay(
    run: option.Run,
    episode: option.Episode,
    env: option.EpisodeEnv = None,
    attempt: option.Attempt = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Compare every step with the record, without a window.")
    ] = False,
    json: option.Json = False,
) -> None:
    """Rebuild a recorded episode in a fresh process and show it in the window.

    With --verify, or where no window can open, the episode is rebuilt, every step is compared with the record, and
    the result is printed here; the exit code is 7 if a step differs. --json prints the same as a ReplayResult.
    Ctrl-C stops the replay.
    """
    with open_stack() as stack:
        view = find_run(stack, run)
        row = find_episode(stack, view.run_id, WantedEpisode(episode, env, attempt))
    if not (verify or json) and _shown_in_window(view, row):
        return
    _verify(view, row, json)


def watch(
    run: option.Run,
    env: Annotated[int, typer.Option(min=0, help="Sub-environment.")] = 0,
) -> None:
    """Open the window at a running run: what its environment shows, as it acts."""
    from mosaic_cli.window import NO_DISPLAY, can_open, open_window

    with open_stack() as stack:
        view = find_run(stack, run)
    if view.state.is_final:
        raise NothingToWatch(
            f"{view.run_id} has ended. `./mosaic replay {view.run_id} --episode last` shows its newest episode."
        )
    if not can_open():
        raise NoWindow(
            f"{NO_DISPLAY} `./mosaic events {view.run_id} -f` follows the run in the terminal."
        )
    place = ["--env", str(env)] if env else []
    raise typer.Exit(open_window("--run", view.run_id, "--watch", *place))


def _shown_in_window(run: light.RunFields, row: light.EpisodeFields) -> bool:
    """Whether a window was there to show the episode."""
    from mosaic_cli.window import COULD_NOT_OPEN, NO_DISPLAY, can_open, open_window

    if not can_open():
        say(f"{NO_DISPLAY} Verifying the episode instead.")
        return False
    try:
        code = open_window("--replay", f"{run.run_id}:{row.attempt}:{row.env}:{row.episode}")
    except EnvironmentMissing as missing:
        say(str(missing))
        code = COULD_NOT_OPEN
    if code == COULD_NOT_OPEN:
        say("Verifying the episode instead.")
        return False
    if code:
        raise typer.Exit(code)
    return True


def _verify(run: light.RunFields, row: light.EpisodeFields, json: bool) -> None:
    from mosaic_cli.replaying import await_result, print_result, replay_of
    from mosaic_cli.wording import number, what

    result = f", return {number(row.episode_return)}" if row.episode_return is not None else ""
    say(f"Episode {row.episode} of environment {row.env}{result}: {what(run)}.")
    with (
        open_client() as client,
        replay_of(client, run.run_id, row) as started,
    ):
        found = await_result(client, started)
    if json:
        emit(found)
        code = ExitCode.RUN_FAILED if found.problem else ExitCode.DIFFERENT
    else:
        print_result(found)
        code = ExitCode.DIFFERENT
    raise typer.Exit(ExitCode.DONE if found.is_verified else code)
