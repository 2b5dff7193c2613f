"""What admission says of a run that another machine of a cluster would start."""

from types import SimpleNamespace
from typing import cast

import pytest
from tests.records import make_record

from mosaic_contracts.spec import RunKind
from mosaic_contracts.xmpp import XmppServer
from mosaic_scheduler.admission.context import Context, XmppLook
from mosaic_scheduler.admission.nodes import check_agents, check_nodes
from mosaic_scheduler.executors.protocol import Bounds, Internet, Inventory

LOOPBACK, NAME = "nats://127.0.0.1:4222", "tls://lab.example:4222"


def context(
    *,
    queues: bool = True,
    shares_folder: bool = True,
    elsewhere: str = "n1",
    runs_url: str = LOOPBACK,
    agents: int = 0,
    xmpp_host: str = "lab.example",
    kind: RunKind = RunKind.TRAIN,
) -> Context:
    """What the check looks at."""
    found = SimpleNamespace(
        spec=make_record().spec.model_copy(update={"kind": kind}),
        bounds=Bounds(
            memory=False,
            internet=Internet.OPEN,
            files=True,
            queues=queues,
            shares_folder=shares_folder,
        ),
        inventory=Inventory(cpus=1, elsewhere=elsewhere),
        runs_url=runs_url,
        xmpp=XmppLook(agents, _server(xmpp_host)),
    )
    return cast("Context", found)


def _server(host: str) -> XmppServer:
    return XmppServer(
        host=host,
        port=5222,
        domain="d",
        ca_file="ca.crt",
        api_url="http://127.0.0.1:1",
        user="u",
        password_file="p",
    )


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (context(), "nothing of a run is shown until it has ended"),
        (context(shares_folder=False), "no run begins there"),
        (context(elsewhere=""), ""),
        (context(runs_url=NAME), ""),
        (context(queues=False), ""),
        (context(kind=RunKind.PLAY), ""),
    ],
)
def test_a_broker_on_loopback_is_warned_of(found: Context, words: str) -> None:
    """Only where a job may be started on another machine; the warning names the option."""
    checks = check_nodes(found)
    assert [check.level for check in checks] == (["warning"] if words else [])
    assert all(words in check.message and "--broker-bind" in check.todo for check in checks)


@pytest.mark.parametrize("shares_folder", [True, False])
def test_agents_that_talk_need_the_shared_folder(shares_folder: bool) -> None:
    """Such a run is refused when it is asked for, not when it is its turn."""
    checks = check_agents(context(shares_folder=shares_folder, agents=2))
    assert [check.refuses for check in checks] == ([] if shares_folder else [True])
    assert check_agents(context(shares_folder=False)) == []
    assert all("--node-home" in check.message for check in checks)


@pytest.mark.parametrize(("elsewhere", "is_warned"), [("n1", True), ("", False)])
def test_an_xmpp_server_on_loopback_is_warned_of(elsewhere: str, is_warned: bool) -> None:
    """Agents on another machine do not reach it, whatever folder they share."""
    checks = check_agents(context(agents=2, xmpp_host="127.0.0.1", elsewhere=elsewhere))
    assert [check.level for check in checks] == (["warning"] if is_warned else [])
