"""The only place where broker subjects are built (a check in `./mosaic lint` holds that)."""

from mosaic_contracts.ids import parse_run_id

_ROOT = "mosaic.v1"

EVENTS_STREAM = "MOSAIC_EVENTS"
EVENTS_CONSUMER = "recorder"
EVENTS_ALL = f"{_ROOT}.events.*"
HEARTBEAT_ALL = f"{_ROOT}.heartbeat.*"
COMMITTED_ALL = f"{_ROOT}.committed.*"
NODE_ALL = f"{_ROOT}.node.*.*"
RUN_CHANGED = f"{_ROOT}.runs.changed"


def events(run_id: str) -> str:
    """Return the JetStream subject of a run's event batches, from each of its sources."""
    return f"{_ROOT}.events.{parse_run_id(run_id)}"


def committed(run_id: str) -> str:
    """Return the core NATS subject on which the recorder reports up to which seq a run's events are stored."""
    return f"{_ROOT}.committed.{parse_run_id(run_id)}"


def heartbeat(run_id: str) -> str:
    """Return the core NATS subject of a run's heartbeats: its shipper reports the state of the trainer."""
    return f"{_ROOT}.heartbeat.{parse_run_id(run_id)}"


def control(run_id: str) -> str:
    """Request/reply: stop, pause, watch, act; answered by the run's shipper."""
    return f"{_ROOT}.control.{parse_run_id(run_id)}"


def node(run_id: str, verb: str) -> str:
    """Request/reply: a run on another machine asks the scheduler, see `mosaic_contracts.nodes`."""
    return f"{_ROOT}.node.{parse_run_id(run_id)}.{verb}"


def node_verb(subject: str) -> tuple[str, str]:
    """Run and verb of a subject that `node` made, as the broker let somebody publish on it.

    Raises:
        ValueError: it is no such subject.
    """
    run_id, _, verb = subject.removeprefix(f"{_ROOT}.node.").partition(".")
    return parse_run_id(run_id), verb


def live(run_id: str, channel: str) -> str:
    """Core: frames, published only while somebody watches."""
    return f"{_ROOT}.live.{parse_run_id(run_id)}.{channel}"


def live_all(run_id: str) -> str:
    """All live channels of one run."""
    return f"{_ROOT}.live.{parse_run_id(run_id)}.>"


def service(name: str, verb: str) -> str:
    """Subject of requests to a service.

    Args:
        name: `scheduler` or `recorder`.
        verb: name of the verb, see `mosaic_contracts.verbs`.

    Returns:
        The subject.
    """
    return f"{_ROOT}.svc.{name}.{verb}"


def service_all(name: str) -> str:
    """All verbs of one service."""
    return f"{_ROOT}.svc.{name}.*"


def inbox_prefix(owner: str) -> str:
    """Prefix of replies to one connection: its own, so that nobody reads another's replies.

    Args:
        owner: name of a service, or a run id.

    Returns:
        The subject's prefix.
    """
    return f"_INBOX_{owner}"
