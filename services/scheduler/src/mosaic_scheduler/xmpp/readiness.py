"""Whether the agents of a run could log in: what `check`, `preflight` and `submit` say of it."""

import asyncio
from pathlib import Path

from mosaic_contracts.problems import ProblemCode
from mosaic_contracts.spec import RunSpec
from mosaic_contracts.worker import Finding, WorkerDescription
from mosaic_contracts.xmpp import SERVICE
from mosaic_scheduler.errors import XmppUnavailable
from mosaic_scheduler.xmpp.examination import examine
from mosaic_scheduler.xmpp.need import agents_of, check_services
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
