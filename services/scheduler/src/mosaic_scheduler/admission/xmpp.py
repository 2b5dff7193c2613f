"""Whether the agents of a run could log in: what `check`, `preflight` and `submit` say of it."""

import asyncio
from pathlib import Path

from mosaic_contracts.problems import ProblemCode
from mosaic_contracts.spec import RunSpec
from mosaic_contracts.worker import Algorithm, Finding, WorkerDescription
from mosaic_contracts.xmpp import SERVICE
from mosaic_scheduler.errors import XmppUnavailable
from mosaic_scheduler.xmpp.accounts import agents_of
from mosaic_scheduler.xmpp.examination import examine
from mosaic_scheduler.xmpp.server import read_server


async def check_xmpp(home: Path, spec: RunSpec, description: WorkerDescription) -> list[Finding]:
    """What speaks against a run that needs XMPP; nothing is asked for one that does not."""
    unknown = check_services(spec, description)
    if unknown or not agents_of(spec, description):
        return unknown
    try:
        await examine(await asyncio.to_thread(read_server, home))
    except XmppUnavailable as error:
        message = f"{error.part}: {error.problem.detail}"
        code = ProblemCode.XMPP_UNAVAILABLE
        return [Finding(level="blocking", where=SERVICE, message=message, code=code)]
    return []


def ready_words(home: Path, agents: int) -> str:
    """Description of a server that passed the check."""
    facts = read_server(home).facts
    return f"{facts.domain} at {facts.host}:{facts.port}; an account for each agent of the run ({agents})."


def check_services(spec: RunSpec, description: WorkerDescription) -> list[Finding]:
    """A run that needs a service which no stack of this version has."""
    algorithm = _algorithm(spec, description)
    unknown = [name for name in algorithm.services if name != SERVICE] if algorithm else []
    return [
        Finding(
            level="blocking",
            where="algorithm",
            message=f"{spec.algorithm} needs the service {name!r}, which this MOSAIC does not have; known is {SERVICE}",
            code=ProblemCode.SPEC_INVALID,
        )
        for name in unknown
    ]


def _algorithm(spec: RunSpec, description: WorkerDescription) -> Algorithm | None:
    return next((a for a in description.algorithms if a.id == spec.algorithm), None)
