"""`train` and `play`: work the run out, record the config, and run the algorithm."""

from collections.abc import Callable

from mosaic_worker_spade.description import BDI
from mosaic_worker_spade.errors import EXIT_REFUSED
from mosaic_worker_spade.learning.loop import Option
from mosaic_worker_spade.learning.stepper import Stepper
from mosaic_worker_spade.learning.surprise import NoWatch
from mosaic_worker_spade.own_server import leave_out_own_server
from mosaic_worker_spade.request import make_draft
from mosaic_worker_spade.session import LearningSession
from mosaic_workerkit.entry import TrainContext
from mosaic_workerkit.errors import RunRefused


def train_run(context: TrainContext) -> None:
    """Learn as the run's spec says, in the run's folder. Returns also after a polite stop.

    Raises:
        RunRefused: `check` calls the spec blocking.
        XmppUnusable: the agents cannot log in.
        PlanStuck: the agent's plans fail again and again.
    """
    _run(context, _learn)


def play_run(context: TrainContext) -> None:
    """Show what a checkpoint has learned. Report everything and learn nothing; otherwise do as `train_run`."""
    _run(context, _show)


def _run(context: TrainContext, alone: Callable[[LearningSession], None]) -> None:
    draft = make_draft(context.spec)
    if draft.is_blocked:
        raise RunRefused(draft.refusal, EXIT_REFUSED)
    session = LearningSession(context, draft)
    session.record_config()
    if context.spec.algorithm == BDI:
        # spade takes a second to import: the config is sent before.
        leave_out_own_server()
        from mosaic_worker_spade.team import run_team

        run_team(session)
    else:
        alone(session)
        session.close()


def _learn(session: LearningSession) -> None:
    """Option after option, with nobody to decide between them."""
    given = session.draft.parameters
    while session.left > 0 and not session.context.stop.requested:
        session.run_option(Option(given.option_steps, session.last_step), NoWatch())


def _show(session: LearningSession) -> None:
    """The best action of every state."""
    learner, pace = session.learner, session.pace
    stepper = Stepper(learner, session.recorder, NoWatch(), learns=False)
    while session.left > 0 and not session.context.stop.requested:
        stepper.act(learner.greedy(stepper.begin()))
        session.record_play_step()
        pace.wait()
