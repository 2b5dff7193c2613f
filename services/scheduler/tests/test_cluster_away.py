"""What admission says while the cluster that would start the run does not answer."""

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from mosaic_contracts.problems import ProblemCode, ProblemError
from mosaic_contracts.services import SubmitRequest
from mosaic_scheduler.admission.admission import Admission
from mosaic_scheduler.admission.context import DiskSpace
from mosaic_scheduler.errors import EngineUnavailable

SPEC = {"worker": "w", "algorithm": "a", "environment": "E-v0"}
SAID = "Slurm's controller does not answer: Unable to contact slurm controller"


class _Away:
    """A source of facts whose cluster is away."""

    async def gather(self, _spec: object) -> None:
        raise EngineUnavailable(SAID)

    async def disk(self) -> DiskSpace:
        return DiskSpace(Path("/"), 2**40, 0, None)

    async def recorder(self) -> None:
        return None


def admission() -> Admission:
    """One that gets as far as asking the cluster."""
    nothing = cast("Any", SimpleNamespace())
    return Admission(cast("Any", _Away()), nothing, nothing, nothing, asyncio.Event())


async def test_preflight_has_a_line_of_the_cluster() -> None:
    """It says what Slurm said and what to do; the other checks are there too."""
    report = await admission().preflight(SubmitRequest(spec=SPEC))
    (line,) = [entry for entry in report.lines if entry.id == "cluster"]
    assert (line.level, line.code) == ("blocking", ProblemCode.SERVICE_UNAVAILABLE)
    assert SAID in line.message
    assert "doctor" in line.todo
    assert {"disk", "broker", "recorder"} <= {entry.id for entry in report.lines}


async def test_a_run_is_refused_for_now() -> None:
    """The request is answered with the reason, not with a fault of the service."""
    with pytest.raises(ProblemError, match="does not answer") as caught:
        await admission().queue(SPEC)
    assert caught.value.problem.code == ProblemCode.SERVICE_UNAVAILABLE
    assert SAID in caught.value.problem.detail
