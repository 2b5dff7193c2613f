"""A gateway and a scheduler in a few lines: they submit what a sweep orders, and let its runs go on."""

import http.client
import json
import socket
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mosaic_contracts.sweep_exchange import (
    EXCHANGE_PATH,
    SWEEP_SOCKET,
    CurvePoints,
    SweepNews,
    SweepOrders,
    TrialRunNews,
)
from mosaic_workerkit.control import short_name

METRIC = "charts/episodic_return"
STEPS = 1_000
"""Environment steps of a trial's run."""


def sweep_spec(**fields: Any) -> dict[str, Any]:
    """The spec of a sweep over one parameter."""
    return {
        "run": {
            "worker": "cleanrl",
            "algorithm": "ppo",
            "environment": "CartPole-v1",
            "steps": STEPS,
        },
        "parameters": {"x": {"type": "float", "low": 0.0, "high": 1.0}},
        "sampler": {"name": "random", "seed": 1},
        "budget": {"trials": 6},
        **fields,
    }


@dataclass
class DrivenRun:
    """A run of a trial."""

    run_id: str
    spec: dict[str, Any]
    step: int = 0
    state: str = "running"

    @property
    def has_ended(self) -> bool:
        """Whether it goes on no more."""
        return self.state != "running"

    def value(self, step: int) -> float:
        """Its metric at a step: it grows with the parameter."""
        return float(self.spec["parameters"].get("x", 0.5)) * step / STEPS


@dataclass
class Driver:
    """Answers the orders of a sweep."""

    pace: int = 250
    """Steps of each run between two exchanges."""
    runs: dict[str, DrivenRun] = field(default_factory=dict)
    """By key."""
    submitted: list[str] = field(default_factory=list)
    """Keys of the runs that were made, in order."""
    refuse: str = ""
    """Why every submit is refused."""
    orders: SweepOrders = field(default_factory=SweepOrders)
    """The last ones."""

    def news(self) -> SweepNews:
        """Do what was ordered, let the runs go on, and say what is new of them."""
        known = [
            *((each.key, self._start(each.key, each.spec), "") for each in self.orders.start),
            *((each.key, self.runs[each.key], each.cursor) for each in self.orders.follow),
        ]
        for run in self.runs.values():
            if run.run_id in self.orders.stop and not run.has_ended:
                run.state = "cancelled"
        return SweepNews(runs=[self._about(key, run, cursor) for key, run, cursor in known])

    def _start(self, key: str, spec: dict[str, Any]) -> DrivenRun | None:
        if self.refuse:
            return None
        if key not in self.runs:
            self.runs[key] = DrivenRun(f"run-{key}", spec)
            self.submitted.append(key)
        return self.runs[key]

    def _about(self, key: str, run: DrivenRun | None, cursor: str) -> TrialRunNews:
        if run is None:
            return TrialRunNews(key=key, state="failed", message=self.refuse)
        before = int(cursor or 0)
        if not run.has_ended:
            run.step = min(run.step + self.pace, STEPS)
            if run.step == STEPS:
                run.state = "succeeded"
        steps = list(range(before + 50, run.step + 1, 50))
        return TrialRunNews(
            key=key,
            run_id=run.run_id,
            state=run.state,
            steps=run.step,
            points=[CurvePoints(metric=METRIC, steps=steps, values=[run.value(s) for s in steps])],
            after=cursor,
            cursor=str(max(run.step, before)),
            is_complete=run.has_ended,
            metrics=[METRIC] if run.has_ended else [],
        )


def post(run_dir: Path, news: SweepNews, path: str = EXCHANGE_PATH) -> SweepOrders:
    """Exchange with the process of a sweep.

    Raises:
        OSError: it does not answer, or died meanwhile.
        http.client.HTTPException: it died meanwhile.
    """
    connection = http.client.HTTPConnection("sweep", timeout=20)
    connection.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.sock.settimeout(20)
    try:
        with short_name(run_dir / SWEEP_SOCKET) as name:
            connection.sock.connect(name)
        connection.request("POST", path, news.model_dump_json())
        answer = connection.getresponse()
        body = answer.read()
    finally:
        connection.close()
    if answer.status != http.client.OK:
        raise AssertionError(f"{answer.status}: {body!r}")
    return SweepOrders.model_validate(json.loads(body))
