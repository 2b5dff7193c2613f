"""How an agent reasons: recovery, beliefs in order, what is reported; without a server, which has no part in it."""

from collections.abc import Iterator
from typing import Any

import agentspeak
import pytest
from agentspeak import Actions, AslError, GoalType, Literal, Trigger, stdlib
from agentspeak.runtime import Intention

from mosaic_worker_spade.deliberation.library import (
    LEARN,
    PLAY,
    SCOUT,
    PlanSource,
    built_in,
)
from mosaic_worker_spade.deliberation.reasoner import (
    Reasoner,
    belief_text,
    build_reasoner,
    plan_label,
    require_readable,
)


class RecordingListener:
    """Writes down what is reported to it."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def believed(self, change: str, belief: Any) -> None:
        """A belief came or went."""
        self.lines.append(f"{change}{belief_text(belief)}")

    def planned(self, trigger: str, plan: Any) -> None:
        """A plan was chosen."""
        self.lines.append(f"{trigger} by {plan_label(plan)}")

    def failed(self, goal: str, reason: str, recovered_by: Any) -> None:
        """A plan failed."""
        by = plan_label(recovered_by) if recovered_by else "nobody"
        self.lines.append(f"{goal} failed ({reason}), taken over by {by}")


def reasoner_of(text: str) -> tuple[Reasoner, list[Any], RecordingListener]:
    """An agent with `.note(X)`, which keeps X, and `.break`, which raises."""
    notes: list[Any] = []
    actions = Actions(stdlib.actions)

    def note(_agent: Any, term: Any, intention: Any) -> Iterator[None]:
        notes.append(belief_text(agentspeak.grounded(term.args[0], intention.scope)))
        yield

    def broken(_agent: Any, _term: Any, _intention: Any) -> Iterator[None]:
        yield from "broken" + 1  # type: ignore[operator] # the error that is meant

    actions.add(".note", 1, note)
    actions.add(".break", 0, broken)
    reasoner, listener = build_reasoner(PlanSource("test.asl", text), actions), RecordingListener()
    reasoner.listener = listener
    return reasoner, notes, listener


def run(reasoner: Reasoner, most: int = 10_000) -> None:
    """Reason until nothing can go on."""
    reasoner.adopt_first_goals()
    for _ in range(most):
        if not reasoner.step():
            return
    raise AssertionError("it goes on for ever")


def test_a_failed_plan_is_recovered_and_its_caller_goes_on() -> None:
    """`-!goal` takes over with the goal's arguments, and the plan that asked for the goal continues behind it."""
    reasoner, notes, listener = reasoner_of(
        "!start.\n+!start <- !try(3); .note(after).\n+!try(N) <- .fail; .note(never).\n@again\n-!try(N) <- .note(N)."
    )
    run(reasoner)
    assert notes == ["3", "after"]
    assert (
        "+!try(3) failed (line 3, column 13: it did not succeed), taken over by again"
        in listener.lines
    )


def test_recovery_goes_up_until_somebody_can() -> None:
    """Without a `-!` of its own a failed goal fails its caller, whose `-!` takes over; so does an exception."""
    reasoner, notes, _ = reasoner_of(
        "!start.\n+!start <- !a; .note(done).\n+!a <- !b; .note(never).\n+!b <- .break.\n-!a <- .note(saved)."
    )
    run(reasoner)
    assert notes == ["saved", "done"]


def test_a_goal_without_a_plan_is_recovered() -> None:
    """No plan fits: `-!goal` is tried; without one the intention is dropped and others go on."""
    reasoner, notes, listener = reasoner_of(
        "!start.\n!other.\n+!start <- !odd(1); .note(went_on).\n+!odd(2) <- .note(two).\n-!odd(N) <- .note(none).\n"
        "+!other <- !nowhere(5); .note(never).\n+!nowhere(1) <- .note(one)."
    )
    run(reasoner)
    assert notes == ["none", "went_on"]
    assert listener.lines[-1].startswith("+!other failed")
    assert listener.lines[-1].endswith("taken over by nobody")
    assert not reasoner.intentions


def test_repeated_goals_leave_nothing_behind() -> None:
    """A plan that sets its goal again with `!!` a thousand times ends with no intention and one belief."""
    reasoner, _, _ = reasoner_of("n(0).\n!go.\n+!go : n(1000).\n+!go : n(N) <- -+n(N + 1); !!go.")
    run(reasoner)
    assert not reasoner.intentions
    assert [belief_text(b) for b in reasoner.beliefs[("n", 1)]] == ["n(1000)"]


def test_first_goals_see_the_first_percepts() -> None:
    """A plan for the initial goal can look at what was perceived before the agent begins."""
    reasoner, notes, _ = reasoner_of(
        "!start.\n+!start : seen(X) <- .note(X).\n+!start <- .note(blind)."
    )
    reasoner.perceive("seen", 7)
    run(reasoner)
    assert notes == ["7"]


def test_percepts_replace_and_fire() -> None:
    """A percept takes the place of the one before, equal ones are no event, and plans are triggered by the change."""
    reasoner, notes, listener = reasoner_of("+rate(R) <- .note(R).\n-rate(R) <- .note(gone).")
    reasoner.perceive("rate", 0.5)
    reasoner.perceive("rate", 0.5)
    reasoner.perceive("rate", 0.75)
    run(reasoner)
    assert notes == ["0.5", "gone", "0.75"]
    assert [line for line in listener.lines if "by" not in line] == [
        "+rate(0.5)",
        "-rate(0.5)",
        "+rate(0.75)",
    ]


def test_beliefs_keep_their_order() -> None:
    """Whatever strings hash to in this process, beliefs are looked at in the order in which they came."""
    reasoner, notes, _ = reasoner_of("!start.\n+!start <- for (place(P)) { .note(P) }.")
    names = [f"p{number}" for number in (5, 3, 9, 1, 7, 2)]
    for name in names:
        reasoner.perceive_also("place", name)
    run(reasoner)
    assert notes == names


def test_plans_may_change_what_they_look_at() -> None:
    """Removing beliefs while going through them is no error."""
    reasoner, notes, _ = reasoner_of(
        "a(1). a(2). a(3).\n!start.\n+!start <- for (a(X)) { -a(X); .note(X) }."
    )
    run(reasoner)
    assert notes == ["1", "2", "3"]
    assert len(reasoner.beliefs[("a", 1)]) == 0


def test_failures_are_counted() -> None:
    """The number of failures shows an agent that goes round in a circle of them."""
    reasoner, _, _ = reasoner_of("!go.\n+!go <- .fail.\n-!go <- !!go.")
    reasoner.adopt_first_goals()
    for _ in range(1_000):
        reasoner.step()
    assert reasoner.failures > 100


def test_context_is_told_as_it_is_written() -> None:
    """The context of a chosen plan has the names of its variables, the same in every process."""
    reasoner, _, _ = reasoner_of("!start.\n+!start : left(N) & N > 0 <- .note(N).")
    plan = next(iter(reasoner.plans.values()))[0]
    assert plan.context_text == "(left(N) & (N > 0))"


@pytest.mark.parametrize("name", [LEARN, PLAY, SCOUT])
def test_built_in_plans_can_be_read(name: str) -> None:
    """Our own plans have no fault, and something to do whatever happens."""
    require_readable(built_in(name))


def test_an_error_outside_of_plans_is_told() -> None:
    """A goal from outside without a plan for it raises, so that the caller can say so."""
    reasoner, _, _ = reasoner_of("+!known <- .note(1).")
    with pytest.raises(AslError, match="no applicable plan"):
        reasoner.call(
            Trigger.addition, GoalType.achievement, Literal("odd"), Intention(), delayed=True
        )
