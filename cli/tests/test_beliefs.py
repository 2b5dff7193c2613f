"""`beliefs`: what was in an agent's mind at each step, from namespaced events and the grid alone."""

import struct
from hashlib import blake2b
from typing import Any

import pytest
from tests.gateway_double import OF_RUN, Answers, Mosaic, strict

GRID = {
    "shape": [2, 2],
    "cells": [["start", "frozen"], ["hole", "goal"]],
    "actions": [
        {"name": "left", "move": [0, -1]},
        {"name": "down", "move": [1, 0]},
        {"name": "right", "move": [0, 1]},
        {"name": "up", "move": [-1, 0]},
    ],
}
CONFIG = {"spaces": {"observation": {"kind": "discrete", "n": 4}}, "grid": GRID}


def step_hash(state: int, reward: float = 0.0, flags: int = 0) -> str:
    """The hash of a numbered state."""
    return blake2b(struct.pack("<qdB", state, reward, flags), digest_size=8).hexdigest()


def event(seq: int, kind: str, **fields: Any) -> dict[str, Any]:
    """A stored event."""
    return {"v": 1, "attempt": 1, "source": "worker", "seq": seq, "t": 0.0, "type": kind, **fields}


def decision(seq: int, kind: str, **data: Any) -> dict[str, Any]:
    """An extra of the agent in environment 0."""
    return event(seq, kind, data={"agent": "ann", "env": 0, **data})


STEPS = [
    event(5, "episode_start", env=0, episode=3, hash=step_hash(0)),
    event(9, "step", env=0, episode=3, step=1, action=2, reward=0.0, flags=0, hash=step_hash(1)),
    event(
        12,
        "step",
        env=0,
        episode=3,
        step=2,
        action=1,
        reward=1.0,
        flags=1,
        hash=step_hash(3, 1.0, 1),
    ),
]
EXTRAS = [
    decision(2, "bdi.belief", added=["budget(5)", "state(9)"], removed=[]),
    decision(3, "policy.values", q=[[0, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]),
    event(4, "bdi.belief", data={"agent": "bob", "env": 1, "added": ["other"], "removed": []}),
    decision(6, "bdi.belief", added=["state(0)"], removed=["state(9)"]),
    decision(7, "bdi.plan", trigger="+!go", plan="sure", confidence=0.75),
    decision(8, "bdi.intention", change="adopted", stacks=[["+!start", "+!go @sure"]]),
    decision(10, "bdi.belief", added=["state(1)"], removed=["state(0)"]),
    decision(11, "bdi.plan", trigger="+!go", plan="unsure", confidence=0.4),
    decision(13, "policy.choices", episode=3, explored=[0, 1], confidence=[0.9, 0.1]),
]


@pytest.fixture
def recorded(answers: Answers) -> Answers:
    """A run with one recorded episode of two steps."""
    row = {"attempt": 1, "env": 0, "episode": 3, "length": 2, "return": 1.0, "recorded_steps": 2}
    answers[f"{OF_RUN}/episodes"] = {"episodes": [row], "next_cursor": None}
    answers[f"{OF_RUN}/episodes/1/0/3/steps"] = {"events": STEPS, "cursor": "x", "has_more": False}
    events = [event(1, "config", data=CONFIG), *EXTRAS]
    answers[f"{OF_RUN}/events"] = {"events": events, "cursor": "x", "has_more": False}
    return answers


def test_each_step_has_what_was_said_before_it(recorded: Answers, mosaic: Mosaic) -> None:
    """State from the hash, cell from the grid; plan, intention and beliefs from the events before the step."""
    code, output, _ = mosaic("beliefs", "last", "--episode", "3", "--json")
    assert code == 0
    first, second = strict(output)["steps"]
    assert (first["state"], first["cell"], first["kind"], first["action_name"]) == (
        0,
        [0, 0],
        "start",
        "right",
    )
    assert (first["plan"], first["confidence"], first["explored"]) == ("sure", 0.75, False)
    assert first["intentions"] == ["+!start > +!go @sure"]
    assert first["beliefs"] == ["budget(5)", "state(0)"]
    assert (second["cell"], second["plan"], second["explored"]) == ([0, 1], "unsure", True)
    assert (second["added"], second["removed"]) == (["state(1)"], ["state(0)"])


def test_table_is_read_by_people(recorded: Answers, mosaic: Mosaic) -> None:
    """The table names places, actions and plans in words, and shows the policy over the grid."""
    code, output, _ = mosaic("beliefs", "last")
    assert code == 0
    assert "Episode 3: 2 steps, return 1, agent ann" in output
    assert "0,0 start" in output
    assert "down (explored)" in output
    assert "  > v\n  H G\n" in output
    assert "other" not in output


def test_an_episode_that_is_not_there_is_said(recorded: Answers, mosaic: Mosaic) -> None:
    """Exit code 4, and where to look."""
    code, output, said = mosaic("beliefs", "last", "--episode", "8")
    assert (code, output) == (4, "")
    assert "has no episode 8 in environment 0" in said


@pytest.mark.parametrize(
    "grid", ["x", {**GRID, "cells": [["start"]]}, {**GRID, "shape": [-2, 2]}, GRID]
)
def test_events_of_another_form_are_shown_as_far_as_they_go(
    recorded: Answers, mosaic: Mosaic, grid: Any
) -> None:
    """Any program may print events of these types; what has no place in the table is left out, and nothing fails."""
    events: list[dict[str, Any]] = [event(1, "config", data={"spaces": [1], "grid": grid})]
    forms: list[Any] = [5, "NaN", [5], [[{}]], {"a": 1}]
    for odd in forms:
        for kind in ("belief", "plan", "intention", "option"):
            keys = ("added", "removed", "plan", "confidence", "stacks", "agent")
            events.append(decision(2, f"bdi.{kind}", **dict.fromkeys(keys, odd)))
        events.append(decision(3, "policy.values", q=odd))
        events.append(decision(13, "policy.choices", episode=3, explored=odd, confidence=odd))
    events.append(decision(4, "bdi.belief", added=["kept"]))
    events.sort(key=lambda one: int(one["seq"]))
    recorded[f"{OF_RUN}/events"] = {"events": events, "cursor": "x", "has_more": False}
    odd_steps = [*STEPS, {**STEPS[-1], "seq": 14, "step": 3, "action": -9, "observation": -7}]
    recorded[f"{OF_RUN}/episodes/1/0/3/steps"] = {
        "events": odd_steps, "cursor": "x", "has_more": False,
    }  # fmt: skip
    for more in ([], ["--json"]):
        code, output, _ = mosaic("beliefs", "last", "--episode", "3", *more)
        assert code == 0
        assert "kept" in output
