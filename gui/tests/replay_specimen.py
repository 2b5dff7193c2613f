"""Replayed episodes in a client that is not connected."""

from typing import Any

from PyQt6.QtGui import QColor, QImage
from tests.net.frames_stub import frame, raw
from tests.specimen import run_id

from mosaic_contracts.replays import (
    PackageDifference,
    ReplayResult,
    ReplaySource,
    StepDifference,
)
from mosaic_contracts.runs import EpisodeRow
from mosaic_gui.app.client import DesktopClient
from mosaic_gui.state.episode_list import EpisodeAddress
from mosaic_gui.state.episode_steps import RecordedSteps
from mosaic_gui.viewmodels.replay import ReplayModel

STEPS = 60


def episode_rows() -> list[EpisodeRow]:
    """Episodes of two sub-environments, one of which was not recorded step by step."""
    return [
        EpisodeRow(
            attempt=1,
            env=n % 2,
            episode=n // 2,
            length=STEPS,
            episode_return=float(n * n),
            terminated=n % 3 > 0,
            truncated=n % 3 == 0,
            recorded_steps=0 if n == 4 else STEPS,
            start_seq=n,
        )
        for n in range(20)
    ]


def step_events(count: int = STEPS) -> list[dict[str, Any]]:
    """An episode with a spike, a person's action and an end."""
    event = {"attempt": 1, "source": "worker", "env": 0, "episode": 9, "hash": ""}
    steps = [
        event
        | {"type": "step", "seq": 10 + n, "step": n, "action": n % 2, "actor": int(n == 20)}
        | {"reward": 9.0 if n == 30 else 0.5, "flags": int(n == count)}
        for n in range(1, count + 1)
    ]
    return [event | {"type": "episode_start", "seq": 10, "reset": {"way": "generator"}}, *steps]


def verified(**fields: Any) -> ReplayResult:
    """A replay that is equal."""
    source = ReplaySource(run_id=run_id(0), attempt=1, env=0, episode=9)
    known = {"source": source, "way": "generator", "steps": STEPS, "equal": STEPS}
    return ReplayResult.model_validate(known | fields)


def differing() -> ReplayResult:
    """A replay with other versions that differs in the middle."""
    found = StepDifference(
        step=40, parts=["reward"], recorded={"reward": 1.0}, rebuilt={"reward": 0.5}
    )
    package = PackageDifference(package="gymnasium", recorded="0.29.1", installed="1.0.0")
    return verified(equal=39, first_difference=found, packages=[package], is_cut=True)


def fill(model: ReplayModel, result: ReplayResult | None) -> None:
    """Give an episode its steps, its result and its frames."""
    model.take_recorded(RecordedSteps.from_events(step_events(), model.config))
    model.take_belief_seqs([15, 25])
    if result is None:
        return
    model.take_result(result)
    model.picture_wanted.connect(lambda one: model.take_picture(one, picture(one.number)))
    model.take_frames([frame("R", n, **raw(4, 4)) for n in range(STEPS + 1)])


def picture(step: int) -> QImage:
    """A picture of one colour, which depends on the step."""
    image = QImage(60, 40, QImage.Format.Format_RGB32)
    image.fill(QColor.fromHsv((step * 7) % 360, 200, 200))
    return image


def fill_replay(client: DesktopClient, n: int = 0) -> None:
    """Two episodes of run `n` side by side, one of which differs, with the list of episodes."""
    run = run_id(n)
    client.episodes.show_run(run, client.store.runs.get(run))
    client.episodes.take(run, episode_rows(), is_all=True)
    first = client.player.open(EpisodeAddress(run, 1, 0, 9), "CartPole-v1")
    second = client.player.add(EpisodeAddress(run, 1, 1, 3), "CartPole-v1")
    assert second is not None
    fill(first, verified())
    fill(second, differing())
    client.player.seek(10)
