"""Whether a run on another machine of a cluster reaches what it needs of this one: broker and XMPP server."""

from mosaic_contracts.gateway_address import host_of, is_loopback
from mosaic_contracts.problems import ProblemCode
from mosaic_contracts.xmpp import SERVICE
from mosaic_scheduler.admission.check import Check, warned, wrong
from mosaic_scheduler.admission.context import Context
from mosaic_scheduler.executors.cluster_jobs import JOB_KINDS

_BIND = "Start the stack again with `--broker-bind 0.0.0.0` (`./mosaic down` before)."


def check_nodes(context: Context) -> list[Check]:
    """Whether a job of a cluster reaches the broker; nothing is said of any other run."""
    node = context.inventory.elsewhere
    if not _is_job(context) or not node or not is_loopback(context.runs_url):
        return []
    is_shared = context.bounds.shares_folder
    then = "nothing of a run is shown until it has ended" if is_shared else "no run begins there"
    host = host_of(context.runs_url)
    message = (
        f"Runs reach it at {host}, which is this machine alone: on nodes such as {node} {then}."
    )
    return [warned("broker", message, _BIND)]


def check_agents(context: Context) -> list[Check]:
    """Agents that do not reach the XMPP server from a node; nothing is said of any other run."""
    if not _is_job(context) or not context.xmpp.agents:
        return []
    if context.bounds.shares_folder:
        return _check_server(context)
    message = (
        "its agents talk over XMPP, which nodes that share no folder with this machine do not reach: use a stack "
        "without `--node-home`"
    )
    return [wrong(SERVICE, message, ProblemCode.XMPP_UNAVAILABLE)]


def _check_server(context: Context) -> list[Check]:
    server, node = context.xmpp.server, context.inventory.elsewhere
    if server is None or not node or not is_loopback(f"xmpp://{server.host}"):
        return []
    message = f"The server listens on this machine alone ({server.host}): agents on {node} do not reach it."
    return [warned(SERVICE, message, "Choose this machine as the node (MOSAIC_SLURM_OPTIONS).")]


def _is_job(context: Context) -> bool:
    return context.bounds.queues and context.spec.kind in JOB_KINDS
