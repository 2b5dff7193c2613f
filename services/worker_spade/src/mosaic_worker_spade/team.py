"""The agents of a run, from login to logout."""

import asyncio
import logging
import os
import random
from functools import partial

import loguru
from spade.container import Container

from mosaic_contracts.xmpp import XmppAccess
from mosaic_worker_spade.deliberation.behaviour import AgentBehaviour
from mosaic_worker_spade.deliberation.library import SCOUT as SCOUT_PLAN
from mosaic_worker_spade.deliberation.library import PlanSource, built_in
from mosaic_worker_spade.deliberation.team_member import TeamMember
from mosaic_worker_spade.deliberation.trace import Trace
from mosaic_worker_spade.deliberation.work import LEARNER, SCOUT, AgentWork
from mosaic_worker_spade.errors import EXIT_REFUSED, PlanStuck
from mosaic_worker_spade.learning.learner import Learner
from mosaic_worker_spade.learning.loop import EpisodeWatch, Option, OptionOutcome
from mosaic_worker_spade.learning.stepper import Stepper
from mosaic_worker_spade.learning.surprise import SurpriseWatch
from mosaic_worker_spade.recording import LearningRecorder
from mosaic_worker_spade.session import LearningSession
from mosaic_worker_spade.xmpp.access import read_access
from mosaic_worker_spade.xmpp.link_monitor import LinkMonitor
from mosaic_worker_spade.xmpp.probe import probe
from mosaic_worker_spade.xmpp.server_link import ServerLink
from mosaic_workerkit.errors import RunRefused


def run_team(session: LearningSession) -> None:
    """Let the agents work until the learner's plan has finished, or a stop; the session is closed before they log out.

    Raises:
        XmppUnusable: they cannot log in.
        PlanStuck: a plan fails again and again, or ended without a step.
    """
    access = read_access(os.environ, session.draft.parameters.agents)
    probe(access)
    _quieten()
    random.seed(session.context.spec.seed)  # what AgentSpeak's .random draws from
    asyncio.run(Team(session, access).run())


class Team:
    """One learner and, with `agents: 2`, one scout."""

    def __init__(self, session: LearningSession, access: XmppAccess) -> None:
        self._session = session
        self._access = access
        self._link_monitor = LinkMonitor(session.context.telemetry, lambda: session.steps)
        self._members: list[TeamMember] = []
        self._behaviours: list[AgentBehaviour] = []

    async def run(self) -> None:
        """All of it."""
        Container().reset()  # a singleton, which keeps the event loop of its first use
        plan = self._session.draft.plan
        if plan is None:
            raise RunRefused("a BDI run needs a plan", EXIT_REFUSED)
        learner = self._add(self._learner_work(), plan, 0)
        if self._session.draft.parameters.agents > 1:
            self._add(self._scout_work(), built_in(SCOUT_PLAN), 1)
        try:
            for member in self._members:
                await member.start(auto_register=False)
            await self._wait(learner)
            self._require_work()
            self._session.close()
        finally:
            await asyncio.gather(*(member.leave() for member in self._members))

    async def _wait(self, learner: AgentBehaviour) -> None:
        """The run ends with its learner; whatever kills another agent ends it too."""
        waiting = {behaviour.done for behaviour in self._behaviours}
        while not learner.done.done():
            done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for ended in done:
                ended.result()
        learner.done.result()

    def _add(self, work: AgentWork, plan: PlanSource, place: int) -> AgentBehaviour:
        session, account = self._session, self._access.accounts[place]
        trace = Trace(
            session.context.telemetry, work.name, work.place, work.is_reported, work.sureness
        )
        behaviour = AgentBehaviour(
            work,
            trace,
            self._addresses,
            lambda: session.context.stop.requested,
            self._all_rest,
            session.pace.early_s,
        )
        link = ServerLink(self._access, account.jid, partial(self._link_monitor.changed, work.name))
        self._behaviours.append(behaviour)
        self._members.append(TeamMember(account, self._access, plan, work, trace, behaviour, link))
        return behaviour

    def _require_work(self) -> None:
        """Refuse a plan that ended without a step: a slip. Log a plan that ended early: its author's decision."""
        session = self._session
        if session.left <= 0 or session.context.stop.requested:
            return
        name = session.draft.plan.name if session.draft.plan else ""
        if session.steps == 0:
            raise PlanStuck(
                f"{name} came to its end without a step. Does it begin with a goal (`!start.`), and does one of its "
                "plans use .option or .act?"
            )
        session.context.telemetry.log(
            "warning",
            f"{name} ended the run after {session.steps} of {session.draft.total_steps} steps",
        )

    def _learner_work(self) -> AgentWork:
        session, given = self._session, self._session.draft.parameters
        learner = session.learner
        known = set(learner.ends) if session.draft.checkpoint is not None else set[int]()
        watch = SurpriseWatch(given.surprise_threshold, known)
        return AgentWork(
            LEARNER,
            learner,
            session.recorder,
            watch,
            Stepper(learner, session.recorder, watch, learns=not session.plays),
            session.run_option,
            lambda: session.left,
            self._first_beliefs(1),
            lambda: session.context.stop.requested,
            session.record_play_step if session.plays else None,
        )

    def _scout_work(self) -> AgentWork:
        session, given = self._session, self._session.draft.parameters
        context, draft = session.context, session.draft
        learner = Learner.fresh(
            session.world, given.rates, context.spec.seed + 1, draft.env_seed + 1
        )
        recorder = LearningRecorder(
            context.telemetry,
            context.stop,
            context.spec,
            sampling=draft.sampling,
            reported_total=None,
            env_seed=draft.env_seed + 1,
            view=session.view,
            env=1,
        )
        watch = SurpriseWatch(given.surprise_threshold, set())

        def run(option: Option, watch: EpisodeWatch) -> OptionOutcome:
            return session.loop(learner, option, recorder, watch)

        return AgentWork(
            SCOUT,
            learner,
            recorder,
            watch,
            Stepper(learner, recorder, watch, learns=True),
            run,
            lambda: given.scout_steps - learner.counts.steps,
            self._first_beliefs(0),
            lambda: context.stop.requested,
        )

    def _first_beliefs(self, partner: int) -> dict[str, float | str]:
        given, accounts = self._session.draft.parameters, self._access.accounts
        beliefs: dict[str, float | str] = {
            "budget": given.option_steps,
            "epsilon_end": given.epsilon_end,
            "replan_epsilon": given.replan_epsilon,
            "told_epsilon": given.told_epsilon,
        }
        if given.agents > 1:
            beliefs["partner"] = _bare(accounts[partner].jid)
        return beliefs

    def _addresses(self) -> set[str]:
        count = self._session.draft.parameters.agents
        return {_bare(account.jid) for account in self._access.accounts[:count]}

    def _all_rest(self) -> bool:
        """Nobody is left who could send a message."""
        return all(behaviour.is_at_rest or behaviour.done.done() for behaviour in self._behaviours)


def _quieten() -> None:
    """Keep the worker's log for what a person can act on: slixmpp warns of spade's own messages, each time."""
    logging.basicConfig(level=logging.WARNING, format="%(name)s: %(message)s")
    for handler in logging.getLogger().handlers:
        handler.addFilter(lambda record: "Unknown stanza interface" not in record.getMessage())
    loguru.logger.remove()


def _bare(jid: str) -> str:
    return jid.partition("/")[0]
