"""What the actions of an agent's plans do in the world, and what the agent perceives of that."""

from collections.abc import Callable

from mosaic_worker_spade.deliberation.reasoner import Reasoner
from mosaic_worker_spade.deliberation.trace import Trace
from mosaic_worker_spade.environment.world import TableWorld
from mosaic_worker_spade.learning.learner import Learner
from mosaic_worker_spade.learning.loop import Option, OptionOutcome, Until
from mosaic_worker_spade.learning.stepper import Stepper
from mosaic_worker_spade.learning.surprise import SurpriseWatch
from mosaic_worker_spade.recording import LearningRecorder, confidence

LEARNER, SCOUT = "learner", "scout"
Send = Callable[[str, str, str], None]
RunOption = Callable[[Option, SurpriseWatch], OptionOutcome]


class AgentWork:
    """One agent's.

    Args:
        run_option: runs an option, and reports and saves what is due.
        left: how many steps are left to do.
        beliefs: percepts that it starts with.
        stepped: is called after each step that its plans chose.
    """

    def __init__(
        self,
        name: str,
        learner: Learner,
        recorder: LearningRecorder,
        watch: SurpriseWatch,
        stepper: Stepper,
        run_option: RunOption,
        left: Callable[[], int],
        beliefs: dict[str, float | str],
        stop_requested: Callable[[], bool],
        stepped: Callable[[], None] | None = None,
    ) -> None:
        self.name = name
        self.learner = learner
        self.watch = watch
        self.is_finished = False
        self.end_reason = ""
        self.trace: Trace | None = None
        self.send_message: Send | None = None
        self._recorder = recorder
        self._stepper = stepper
        self._run_option = run_option
        self._left = left
        self._stepped = stepped
        self._beliefs = beliefs
        self._stop_requested = stop_requested
        self._reasoner: Reasoner | None = None
        self._known: set[tuple[str, int]] = set()

    def begin(self, reasoner: Reasoner, trace: Trace) -> None:
        """Give the agent its first percepts."""
        self._reasoner, self.trace = reasoner, trace
        for name, value in self._beliefs.items():
            reasoner.perceive(name, value)
        self._perceive_progress()
        if self._shows_steps:
            self._perceive_state()
        reasoner.adopt_first_goals()

    def option(self, name: str, epsilon: float | None, steps: int, until: Until) -> bool:
        """Learn for a while; False when nothing was done."""
        if self._shows_steps:
            raise ValueError("a play learns nothing: choose every step with .act")
        if self._stepper.state is not None:
            raise ValueError("an episode is under way: act until it has ended, then take an option")
        if steps < 1:
            raise ValueError(f"an option needs steps, not {steps}")
        self.watch.until = until
        before = self.learner.epsilon
        last_step = self.learner.counts.steps + self._left()
        outcome = self._run_option(Option(steps, last_step, epsilon, until), self.watch)
        if self.trace is not None:
            self.trace.option(
                {
                    "option": name,
                    "epsilon": before if epsilon is None else epsilon,
                    "until": until.value,
                    "reason": outcome.reason,
                    "episodes": outcome.episodes,
                    "steps": outcome.steps,
                    "successes": outcome.successes,
                }
            )
        self._perceive_progress()
        self._has_acted(outcome.steps)
        return outcome.steps > 0

    def set_epsilon(self, epsilon: float) -> None:
        """Explore that much from here on."""
        self.learner.epsilon = epsilon
        self._look().perceive("epsilon", epsilon)

    def best_action(self, state: int) -> int:
        """What the table says."""
        return self.learner.greedy(self._known_state(state))

    def choose_action(self, state: int) -> int:
        """What the table says, or, with epsilon, anything."""
        return self._stepper.choose(self._known_state(state))

    def look(self) -> None:
        """Begin an episode, unless one is under way, and see where it is."""
        self._perceive_state()

    def act(self, action: int) -> None:
        """One step of the world. In a play the next episode begins by itself."""
        ended = self._stepper.act(action)
        if self._stepped is not None:
            self._stepped()
        if ended is not None:
            self._look().perceive("ended", ended)
        if ended is None or self._shows_steps:
            self._perceive_state()
        else:
            self._forget_state()
        self._has_acted(1)

    def avoid(self, state: int) -> None:
        """Value every action that means to go to this place as a loss."""
        self._value_ways_to(state, -_HAZARD_VALUE)

    def aim(self, state: int) -> None:
        """Value every action by how near it means to come to this place."""
        self._value_towards(state)

    def finish(self) -> None:
        """Nothing more is to be done."""
        self.end("the plan finished")

    def end(self, reason: str) -> None:
        """Stop here; the first reason stays."""
        if not self.is_finished:
            self.is_finished, self.end_reason = True, reason

    def send(self, to: str, performative: str, content: str) -> None:
        """Send a message."""
        if self.send_message is None:
            raise ValueError("this agent has nobody to write to")
        self.send_message(to, performative, content)

    def place(self) -> dict[str, int]:
        """Where it is: environment, episode, and the step that comes next (0: before the first)."""
        acting = self._stepper.state is not None
        return {
            "env": self._recorder.env,
            "episode": self._recorder.number(self.learner),
            "step": self._stepper.length + 1 if acting else 0,
        }

    def is_reported(self) -> bool:
        """Whether a decision is reported: always between episodes, within them where steps are recorded."""
        return self._stepper.state is None or self._stepper.is_recorded

    def sureness(self) -> float | None:
        """How sure the table is of its best action here, where a step is being chosen."""
        state = self._stepper.state
        if state is None:
            return None
        row = self.learner.q[state]
        return confidence(row, row.index(max(row)))

    @property
    def _shows_steps(self) -> bool:
        return not self._stepper.learns

    def _look(self) -> Reasoner:
        if self._reasoner is None:
            raise ValueError("the agent has not begun")
        return self._reasoner

    def _known_state(self, state: int) -> int:
        if not 0 <= state < self.learner.world.states:
            raise ValueError(
                f"there is no state {state}: they are 0 to {self.learner.world.states - 1}"
            )
        return state

    def _has_acted(self, steps: int) -> None:
        if steps:
            self._look().failures = 0
        if self._stop_requested():
            self.end("stop")

    def _perceive_progress(self) -> None:
        reasoner, learner, counts = self._look(), self.learner, self.learner.counts
        reasoner.perceive("left", max(0, self._left()))
        reasoner.perceive("episodes", counts.episodes)
        reasoner.perceive("successes", counts.successes)
        reasoner.perceive("rate", round(learner.rate, 4))
        reasoner.perceive("epsilon", learner.epsilon)
        surprise = self.watch.take()
        if surprise is not None:
            reasoner.perceive("surprise", surprise.what, surprise.size)
        self._perceive_found()

    def _perceive_found(self) -> None:
        """Places where episodes ended, as soon as they are known."""
        reasoner, learner = self._look(), self.learner
        found = {("hazard", s) for s in learner.ends} | {("goal_at", s) for s in learner.goals}
        for name, state in sorted(found - self._known):
            reasoner.perceive_also(name, state)
        if found - self._known:
            self._known |= found
            reasoner.perceive("known", len(found))

    def _perceive_state(self) -> None:
        reasoner, world = self._look(), self.learner.world
        left = max(0, self._left())
        reasoner.perceive("left", left)
        if self._stepper.state is None and left == 0:
            return
        state = self._stepper.begin()
        row = self.learner.q[state]
        reasoner.perceive("episode", self._recorder.number(self.learner))
        reasoner.perceive("state", state)
        reasoner.perceive("confidence", confidence(row, row.index(max(row))))
        if world.grid is not None:
            cell = state // world.grid.states_per_cell
            reasoner.perceive("cell", *divmod(cell, world.grid.shape[1]))

    def _forget_state(self) -> None:
        """Between two episodes of learning it is nowhere, and free to take an option."""
        reasoner = self._look()
        for name, arity in (("state", 1), ("confidence", 1), ("cell", 2)):
            reasoner.forget(name, arity)
        self._perceive_progress()

    def _value_ways_to(self, state: int, value: float) -> None:
        for other, action in _ways_to(self.learner.world, self._known_state(state)):
            self.learner.q[other][action] = value

    def _value_towards(self, goal: int) -> None:
        world, gamma = self.learner.world, self.learner.rates.gamma
        columns = _grid_shape(world)[1]
        goal_row, goal_column = divmod(self._known_state(goal), columns)
        for state in range(world.states):
            for action in range(world.actions):
                if self.learner.q[state][action] < 0:
                    continue  # a hazard lies there
                row, column = divmod(_meant(world, state, action), columns)
                away = abs(row - goal_row) + abs(column - goal_column)
                self.learner.q[state][action] = _GOAL_VALUE * gamma**away


_HAZARD_VALUE = 0.1
_GOAL_VALUE = 0.5
"""Value below a goal's real worth, so that what is learned takes over from what the scout reported."""


def _grid_shape(world: TableWorld) -> list[int]:
    if world.grid is None or world.grid.states_per_cell > 1:
        raise ValueError(f"a state of {world.id} is no place on a grid")
    return world.grid.shape


def _meant(world: TableWorld, state: int, action: int) -> int:
    """Where an action means to go, by the grid's moves; the table is what the agent has to find out."""
    rows, columns = _grid_shape(world)
    move = world.grid.actions[action].move if world.grid is not None else None
    row, column = divmod(state, columns)
    if move is None:
        return state
    row, column = row + move[0], column + move[1]
    return row * columns + column if 0 <= row < rows and 0 <= column < columns else state


def _ways_to(world: TableWorld, goal: int) -> list[tuple[int, int]]:
    return [
        (state, action)
        for state in range(world.states)
        for action in range(world.actions)
        if state != goal and _meant(world, state, action) == goal
    ]
