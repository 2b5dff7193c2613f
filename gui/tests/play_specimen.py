"""A worker in whose runs a person acts, and runs whose agents can be shown."""

from typing import Any

from PyQt6.QtGui import QColor, QImage
from tests.beliefs_specimen import event
from tests.net.frames_stub import frame, raw
from tests.specimen import run, run_id

from mosaic_contracts.services import WorkerEntry
from mosaic_gui.app.client import DesktopClient
from mosaic_gui.state.follow import EventBatch

CART, LAKE, PONG = "CartPole-v1", "FrozenLake-v1", "ALE/Pong-v5"
INSTALL = "./mosaic sync worker_play --bundle atari"


def play_worker(**fields: Any) -> WorkerEntry:
    """The worker `play` with three environments, one of which lacks its bundle."""
    parameters = {
        "type": "object",
        "properties": {
            "timing": {
                "type": "string",
                "enum": ["auto", "turns", "real_time"],
                "default": "auto",
                "description": "How time goes.",
                "x-group": "time",
            },
            "rate": {"type": "number", "default": 0.0, "minimum": 0, "x-group": "time"},
            "wait_for_key": {"type": "boolean", "default": True, "x-group": "time"},
            "keys": {"type": "string", "default": "", "x-keys": True, "x-group": "keys"},
            "idle": {"type": "string", "default": "", "x-group": "keys"},
            "options": {"type": "string", "default": "", "x-options": True, "x-group": "environment"},
        },
    }  # fmt: skip
    human = {
        "id": "human",
        "title": "A person",
        "parameters": parameters,
        "default_environment": CART,
        "play": True,
        "human": True,
    }
    lake = {
        "id": LAKE,
        "turns": True,
        "rate": 4.0,
        "max_steps": 100,
        "options": [
            {"name": "map_name", "type": "string", "default": "4x4", "choices": ["4x4", "8x8"]},
            {"name": "is_slippery", "type": "boolean", "default": True},
            {"name": "size", "type": "number", "default": 3},
        ],
    }
    environments = [
        {"id": PONG, "install": INSTALL, "bundle": "atari", "rate": 15.0},
        {"id": CART, "rate": 50.0, "max_steps": 500},
        lake,
    ]
    known: dict[str, Any] = {
        "manifest": {"id": "play", "title": "Human play", "command": ["python"]},
        "ready": True,
        "description": {
            "worker": "play",
            "version": "1",
            "title": "Human play",
            "modes": ["play", "replay", "human"],
            "record_levels": ["episodes", "replay"],
            "algorithms": [human],
            "environments": environments,
            "own_environments": True,
        },
    }
    return WorkerEntry.model_validate(known | fields)


PLAYED = 20
"""Number of the played run."""
CONTROLS = {
    "timing": "real_time",
    "rate": 50.0,
    "keys": {"left": 0, "a": 0, "right": 1, "d": 1, "left+up": 3, "": 2},
    "meanings": {"left": "main engine", "right": "drop off"},
    "default_keys": {"left": 0},
    "has_policy": True,
}


def fill_play(client: DesktopClient) -> None:
    """A play in a client that is not connected: a person acts, an episode has ended, an input was refused."""
    name = run_id(PLAYED)
    spec = {"worker": "play", "algorithm": "human", "kind": "play", "environment": CART}
    client._on_tick(client.store.take_runs([run(PLAYED, spec=spec)]))
    client.store.follow(name)
    client.watch.watch(name)
    config = event(1, "config", data={"play": CONTROLS})
    status = {"paused": True, "waiting": False, "over": False, "rate": 50.0, "input": 1, "actor": 1}
    state = event(2, "play.state", data=status)
    client._on_tick(client.store.apply(EventBatch(name, [config, state], {}, "1.worker.2")))
    image = QImage(60, 40, QImage.Format.Format_RGB32)
    image.fill(QColor("#304050"))
    for episode in (0, 1):
        client.stage.take_frame(
            frame(name, 7, episode=episode, flags=1, actor=1, **raw(60, 40)), image
        )
    client.stage.take_frame(frame(name, 3, episode=2, actor=1, **raw(60, 40)), image)
    client.navigator.open_play(name)
    client.play.refusal = "There is no policy in this run: the person alone acts."
    client.play.changed.emit()
