"""Which runs need XMPP, and for how many agents: as their worker describes it."""

from mosaic_contracts.problems import ProblemCode
from mosaic_contracts.spec import RunSpec
from mosaic_contracts.worker import Algorithm, Finding, WorkerDescription
from mosaic_contracts.xmpp import SERVICE


def agents_of(spec: RunSpec, description: WorkerDescription) -> int:
    """How many agents of the run need an account; 0 when its algorithm does without XMPP."""
    algorithm = _algorithm(spec, description)
    if algorithm is None or SERVICE not in algorithm.services:
        return 0
    name = algorithm.agents_parameter
    if name is None:
        return 1
    schema = algorithm.parameters.get("properties", {}).get(name, {})
    count = spec.parameters.get(name, schema.get("default"))
    return count if isinstance(count, int) and count > 0 else 1


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
