"""Whether agents of a stack elsewhere could log in, as its scheduler finds out for a run that needs it."""

from mosaic_client import Client
from mosaic_contracts.preflight import PreflightLine
from mosaic_contracts.spec import RunSpec
from mosaic_contracts.xmpp import SERVICE


def ask_for_login(client: Client) -> PreflightLine | None:
    """The line of a preflight that is about XMPP; None when no worker of the stack has agents that talk.

    Raises:
        ClientError: the stack does not answer.
    """
    spec = _talking_spec(client)
    if spec is None:
        return None
    lines = client.preflight(spec).lines
    return next((line for line in lines if line.id == SERVICE), None)


def _talking_spec(client: Client) -> RunSpec | None:
    for entry in client.workers().workers:
        for algorithm in entry.description.algorithms if entry.description else []:
            if SERVICE in algorithm.services and algorithm.default_environment:
                return RunSpec(
                    worker=entry.manifest.id,
                    algorithm=algorithm.id,
                    environment=algorithm.default_environment,
                )
    return None
