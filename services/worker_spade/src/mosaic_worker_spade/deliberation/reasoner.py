"""An AgentSpeak interpreter that recovers from failure and reports what it does.

agentspeak ends at a failed plan ("recovery plans are ignored as of yet", its issue 4) and keeps beliefs in sets, whose
order differs from process to process. Here a failed plan looks for `-!goal`, as in Jason, and beliefs keep their order.
"""

import logging
from collections import defaultdict, deque
from collections.abc import Iterator
from typing import Any, Protocol

import agentspeak
from agentspeak import AggregatedError, AslError, GoalType, Literal, Trigger, lexer, parser
from agentspeak.runtime import Agent, BuildTermVisitor, Environment, Intention, Plan

from mosaic_worker_spade.deliberation.action import known_actions
from mosaic_worker_spade.deliberation.library import PlanSource, collected_faults
from mosaic_worker_spade.errors import PlanInvalid

PERCEPT = Literal("source", (Literal("percept"),))
PLAN_FAILURES = (
    AslError,
    AggregatedError,
    ArithmeticError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
)
"""What a person's plan can raise by what it computes or hands to an action: a failed plan, and no more."""
_LOGGERS = tuple(f"agentspeak.{name}" for name in ("runtime", "parser", "lexer", "stdlib"))


class ReasonerListener(Protocol):
    """Gets what an agent believes, decides and gives up."""

    def believed(self, change: str, belief: Literal) -> None: ...

    def planned(self, trigger: str, plan: Plan) -> None: ...

    def failed(self, goal: str, reason: str, recovered_by: Plan | None) -> None: ...


class Beliefs:
    """Beliefs of one name and arity, in the order in which they came."""

    def __init__(self) -> None:
        self._held: dict[Literal, None] = {}

    def add(self, belief: Literal) -> None:
        """As a set does."""
        self._held[belief] = None

    def remove(self, belief: Literal) -> None:
        """Raises KeyError when it is not held."""
        del self._held[belief]

    def __contains__(self, belief: object) -> bool:
        return belief in self._held

    def __iter__(self) -> Iterator[Literal]:
        return iter(tuple(self._held))  # a plan may change them while it looks

    def __len__(self) -> int:
        return len(self._held)


class Reasoner(Agent):  # type: ignore[misc] # agentspeak is not typed
    """The AgentSpeak interpreter of one agent."""

    def __init__(
        self, env: Any, name: str, beliefs: Any = None, rules: Any = None, plans: Any = None
    ) -> None:
        super().__init__(env, name, defaultdict(Beliefs), rules, plans)
        self.intentions: deque[deque[Any]] = deque()
        self._plan_of: dict[int, Plan] = {}
        self.first_goals: list[Any] = []
        """Goals in the plan's text; adopted when the agent has its first percepts, so that plans can look at them."""
        self.listener: ReasonerListener | None = None
        self.failures = 0
        """Failed plans since something was done in the world."""

    def add_plan(self, plan: Plan) -> None:
        """Take a plan into the library."""
        super().add_plan(plan)
        self._plan_of[id(plan.body)] = plan

    def note_contexts(self, texts: list[str]) -> None:
        """Keep each plan's context as it is written: built, its variables have numbers for names."""
        for plan, text in zip(self._plan_of.values(), texts, strict=True):
            plan.context_text = text

    def call(
        self, trigger: Any, goal_type: Any, term: Any, calling_intention: Any, delayed: bool = False
    ) -> bool:
        """Every change of a belief and every goal comes through here."""
        forgets = goal_type is GoalType.belief and trigger is Trigger.removal
        gone = set(self._matching(term, calling_intention)) if forgets and self.listener else set()
        try:
            done = bool(super().call(trigger, goal_type, term, calling_intention, delayed))
        except AslError as error:
            if not self._recover_unplanned(
                trigger, goal_type, term, calling_intention, delayed, str(error)
            ):
                raise
            return True
        if self.listener is not None:
            self._tell(trigger, goal_type, term, calling_intention, gone)
        self._label_new()
        return done

    def step(self) -> bool:
        """One instruction of the first intention that can go on; False when none can."""
        while self.intentions and not self.intentions[0]:
            self.intentions.popleft()
        for stack in self.intentions:
            if stack and self._is_ready(stack[-1]):
                self._advance(stack)
                return True
        return False

    def perceive(self, name: str, *values: float | str) -> None:
        """Believe this of the world, in place of what was perceived under this name before."""
        term = percept(name, values)
        held = self.beliefs[(name, len(values))]
        if term in held:
            return
        for old in held:
            if PERCEPT in old.annots:
                self._drop(held, old)
        self._add(held, term)

    def perceive_also(self, name: str, *values: float | str) -> None:
        """Believe this too."""
        term, held = percept(name, values), self.beliefs[(name, len(values))]
        if term not in held:
            self._add(held, term)

    def forget(self, name: str, arity: int) -> None:
        """No longer perceive anything under this name."""
        held = self.beliefs[(name, arity)]
        for old in held:
            if PERCEPT in old.annots:
                self._drop(held, old)

    def adopt_first_goals(self) -> None:
        """Begin."""
        for goal in self.first_goals:
            self.call(Trigger.addition, GoalType.achievement, goal, Intention(), delayed=True)

    def stacks(self) -> list[list[str]]:
        """Intentions from the bottom up: the goal, and the plan that was chosen for it."""
        return [
            [self._intention_text(part) for part in stack]
            for stack in self.intentions
            if stack and not _is_ending(stack[-1])
        ]

    def _is_ready(self, intention: Intention) -> bool:
        if intention.waiter is None:
            return True
        if not intention.waiter.poll(self.env):
            return False
        intention.waiter = None
        return True

    def _advance(self, stack: Any) -> None:
        intention = stack[-1]
        instruction = intention.instr
        if instruction is None:
            self._finish(stack)
            return
        try:
            succeeded = instruction.f(self, intention)
        except PLAN_FAILURES as error:
            self._fail(stack, f"{_place(instruction)}{error}")
            return
        if succeeded:
            intention.instr = instruction.success
        elif instruction.failure is not None:
            intention.instr = instruction.failure
        else:
            self._fail(stack, f"{_place(instruction)}it did not succeed")

    def _finish(self, stack: Any) -> None:
        """The plan on top has come to its end; what it found out goes to the plan that called it."""
        ended = stack.pop()
        if not stack:
            self.intentions.remove(stack)
        elif ended.calling_term is not None:
            caller = stack[-1]
            reported = ended.head_term.freeze(ended.scope, {})
            if not agentspeak.unify(ended.calling_term, reported, caller.scope, caller.stack):
                self._fail(stack, "what the plan found out does not fit what was asked")

    def _fail(self, stack: Any, reason: str) -> None:
        """Give up plan after plan from the top until one of them has a way to recover."""
        self.failures += 1
        goal = self._intention_text(stack[-1])
        while stack:
            top = stack.pop()
            plan = top.plan
            if plan.trigger is Trigger.addition and plan.goal_type is GoalType.achievement:
                recovery = self._recovery(top.head_term, top.calling_term)
                if recovery is not None:
                    stack.append(recovery)
                    self._tell_failure(goal, reason, recovery.plan)
                    return
        self.intentions = deque(s for s in self.intentions if s is not stack)
        self._tell_failure(goal, reason, None)

    def _recover_unplanned(
        self, trigger: Any, goal_type: Any, term: Any, caller: Any, delayed: bool, reason: str
    ) -> bool:
        """A goal that no plan fits has failed at once."""
        if trigger is not Trigger.addition or goal_type is not GoalType.achievement:
            return False
        goal = agentspeak.freeze(term, caller.scope, {})
        recovery = self._recovery(goal, term)
        if recovery is None:
            return False
        self.failures += 1
        stack = next((s for s in self.intentions if s and s[-1] is caller), None)
        if stack is None or delayed:
            self.intentions.append(deque([recovery]))
        else:
            stack.append(recovery)
        self._tell_failure(f"+!{belief_text(goal)}", reason, recovery.plan)
        return True

    def _recovery(self, goal: Any, calling_term: Any) -> Intention | None:
        key = (Trigger.removal, GoalType.achievement, goal.functor, len(goal.args))
        for plan in self.plans.get(key, ()):
            intention = Intention()
            for _ in agentspeak.unify_annotated(plan.head, goal, intention.scope, intention.stack):
                for _ in plan.context.execute(self, intention):
                    intention.head_term, intention.calling_term = goal, calling_term
                    intention.instr, intention.plan = plan.body, plan
                    return intention
        return None

    def _label_new(self) -> Plan | None:
        """Intentions do not know their plan; a new one still stands at its plan's first instruction."""
        for stack in self.intentions:
            if stack and not hasattr(stack[-1], "plan"):
                stack[-1].plan = self._plan_of[id(stack[-1].instr)]
                return stack[-1].plan
        return None

    def _tell(
        self, trigger: Any, goal_type: Any, term: Any, caller: Any, gone: set[Literal]
    ) -> None:
        if self.listener is None:
            return
        if goal_type is GoalType.belief and trigger is Trigger.addition:
            self.listener.believed("+", agentspeak.freeze(term, caller.scope, {}))
        for old in gone:
            if old not in self.beliefs[old.literal_group()]:
                self.listener.believed("-", old)
        plan = self._label_new()
        if plan is not None:
            reported = agentspeak.freeze(term, caller.scope, {})
            self.listener.planned(f"{trigger.value}{goal_type.value}{belief_text(reported)}", plan)

    def _tell_failure(self, goal: str, reason: str, recovered_by: Plan | None) -> None:
        if self.listener is not None:
            self.listener.failed(goal, reason, recovered_by)

    def _matching(self, term: Any, caller: Any) -> list[Literal]:
        pattern = agentspeak.evaluate(term, caller.scope)
        if not isinstance(pattern, Literal):
            return []
        return [b for b in self.beliefs[pattern.literal_group()] if agentspeak.unifies(pattern, b)]

    def _add(self, held: Beliefs, belief: Literal) -> None:
        """Through `call` only where somebody listens: it is ten times as dear, and percepts come with every step."""
        key = (Trigger.addition, GoalType.belief, *belief.literal_group())
        if self.plans.get(key) or any(waiter.event is not None for waiter in self.waiters()):
            self.call(Trigger.addition, GoalType.belief, belief, Intention(), delayed=True)
            return
        held.add(belief)
        if self.listener is not None:
            self.listener.believed("+", belief)

    def _drop(self, held: Beliefs, belief: Literal) -> None:
        key = (Trigger.removal, GoalType.belief, *belief.literal_group())
        if self.plans.get(key):
            self.call(Trigger.removal, GoalType.belief, belief, Intention(), delayed=True)
            return
        held.remove(belief)
        if self.listener is not None:
            self.listener.believed("-", belief)

    def _intention_text(self, intention: Any) -> str:
        goal = belief_text(intention.head_term)
        plan = intention.plan
        label = f" @{plan.annotation.functor}" if plan.annotation is not None else ""
        return f"{plan.trigger.value}{plan.goal_type.value}{goal}{label}"


def build_reasoner(plan: PlanSource, actions: Any, name: str = "agent") -> Reasoner:
    """Read a plan.

    Raises:
        PlanInvalid: with line and column of each fault.
    """
    with collected_faults(plan, *_LOGGERS) as faults:
        why = ""
        try:
            source = agentspeak.StringSource(plan.name, plan.text)
            log = agentspeak.Log(logging.getLogger("agentspeak.parser"), 3)
            tree = parser.parse(plan.name, lexer.TokenStream(source, log), log)
            log.throw()
            goals, tree.goals = tree.goals, []
            _, built = Environment().build_agent_from_ast(source, tree, actions, Reasoner, name)
        except PLAN_FAILURES as error:
            why = str(error)
    if faults:
        raise PlanInvalid(" ".join(faults))
    if why:
        raise PlanInvalid(f"{plan.name}: {why}.")
    if not tree.plans:
        raise PlanInvalid(f"{plan.name} has no plan. Write one, e.g. +!start <- .finish.")
    reasoner: Reasoner = built
    reasoner.note_contexts([str(part.context) if part.context else "" for part in tree.plans])
    _take_goals(reasoner, plan, goals)
    return reasoner


def _take_goals(reasoner: Reasoner, plan: PlanSource, goals: list[Any]) -> None:
    for goal in goals:
        term = goal.atom.accept(BuildTermVisitor({}))
        if not reasoner.plans.get((Trigger.addition, GoalType.achievement, *term.literal_group())):
            raise PlanInvalid(
                f"{plan.name}, line {goal.loc.lineno}, column {goal.loc.startcol + 1}: "
                f"no plan is for the goal !{belief_text(term)}. Write one: +!{belief_text(term)} <- ..."
            )
        reasoner.first_goals.append(term)


def percept(name: str, values: tuple[float | str, ...]) -> Literal:
    """A belief about the world; texts are atoms."""
    terms = tuple(Literal(value) if isinstance(value, str) else value for value in values)
    return Literal(name, terms, (PERCEPT,))


def belief_text(belief: Any) -> str:
    """As it is written, without where it comes from when it was perceived; numbers shortly."""
    if not isinstance(belief, Literal):
        return f"{belief:.4g}" if isinstance(belief, float) else str(belief)
    arguments = ", ".join(belief_text(part) for part in belief.args)
    source = [s for s in belief.annots if s != PERCEPT]
    reported = f"[{', '.join(belief_text(part) for part in source)}]" if source else ""
    return (
        f"{belief.functor}({arguments}){reported}" if belief.args else f"{belief.functor}{reported}"
    )


def plan_label(plan: Plan) -> str:
    """What a person calls it: its @label, else its head."""
    if plan.annotation is not None:
        return str(plan.annotation.functor)
    return f"{plan.trigger.value}{plan.goal_type.value}{plan.head.functor}"


def _is_ending(intention: Any) -> bool:
    """Whether it is at its last instruction, e.g. the `!!train` that sets the next goal: it intends nothing more."""
    if intention.waiter is not None:
        return False
    return intention.instr is None or intention.instr.success is None


def _place(instruction: Any) -> str:
    place = instruction.loc
    return f"line {place.lineno}, column {place.startcol + 1}: " if place else ""


def require_readable(plan: PlanSource) -> None:
    """Parse a plan and look its actions up, before a run begins.

    Raises:
        PlanInvalid: with file, line and column of each fault.
    """
    build_reasoner(plan, known_actions())
