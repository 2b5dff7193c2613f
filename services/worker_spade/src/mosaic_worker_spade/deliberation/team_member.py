"""A spade agent of a run: an account, a link to the server, a behaviour that reasons."""

import asyncio
from typing import Any

from spade.behaviour import CyclicBehaviour
from spade.message import Message
from spade_bdi.bdi import BDIAgent, BDIBehaviour

from mosaic_contracts.xmpp import XmppAccess, XmppAccount
from mosaic_worker_spade.deliberation.action import make_actions
from mosaic_worker_spade.deliberation.behaviour import AgentBehaviour
from mosaic_worker_spade.deliberation.library import PlanSource
from mosaic_worker_spade.deliberation.reasoner import build_reasoner
from mosaic_worker_spade.deliberation.trace import Trace
from mosaic_worker_spade.deliberation.work import AgentWork
from mosaic_worker_spade.xmpp.server_link import ServerLink


class TeamMember(BDIAgent):  # type: ignore[misc] # spade is not typed
    """One agent."""

    def __init__(
        self,
        account: XmppAccount,
        access: XmppAccess,
        plan: PlanSource,
        work: AgentWork,
        trace: Trace,
        behaviour: AgentBehaviour,
        link: ServerLink,
    ) -> None:
        self._plan = plan
        self._behaviour = behaviour
        self._link = link
        self._trace = trace
        self._sending: set[asyncio.Task[None]] = set()
        password = account.password.get_secret_value()
        super().__init__(
            account.jid,
            password,
            plan.name,
            make_actions(work),
            port=access.port,
            verify_security=True,
        )
        # else agents of one process would hand each other messages in memory, whatever happens to the server
        self.container.unregister(str(self.jid))
        work.send_message = self._send_later
        trace.reasoner = self.bdi_agent
        self.bdi_agent.listener = trace
        work.begin(self.bdi_agent, trace)

    def add_behaviour(self, behaviour: CyclicBehaviour, template: Any = None) -> None:
        """Ours in place of the one that spade_bdi brings."""
        super().add_behaviour(
            self._behaviour if type(behaviour) is BDIBehaviour else behaviour, template
        )

    async def leave(self) -> None:
        """Log out."""
        for behaviour in self.behaviours:
            behaviour.kill()
        await self._link.close()

    def _load_asl(self) -> None:
        self.bdi_agent = build_reasoner(self._plan, self.bdi_actions, str(self.jid))
        self.resume_bdi()

    async def _async_connect(self) -> None:
        self.client.add_event_handler("message", self._message_received)
        await self._link.open(self.client)

    def _send_later(self, to: str, performative: str, content: str) -> None:
        """A plan does not wait for the line."""
        self._trace.message("sent", to, performative, content)
        data = {"performative": "BDI", "ilf_type": performative}
        message = Message(to=to, body=content, metadata=data)
        task = asyncio.get_running_loop().create_task(self._behaviour.send(message))
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)
