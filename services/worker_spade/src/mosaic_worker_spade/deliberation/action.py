"""What an agent's plans can do. A wrong argument is a failed plan with its line and column, never a guess."""

from collections.abc import Iterator
from typing import Any, Protocol

import agentspeak
from agentspeak import Actions, AslError, Literal, stdlib

from mosaic_worker_spade.learning.loop import Until

ANNEAL = "anneal"


class Work(Protocol):
    """What the actions act on."""

    def option(self, name: str, epsilon: float | None, steps: int, until: Until) -> bool: ...

    def set_epsilon(self, epsilon: float) -> None: ...

    def best_action(self, state: int) -> int: ...

    def choose_action(self, state: int) -> int: ...

    def look(self) -> None: ...

    def act(self, action: int) -> None: ...

    def avoid(self, state: int) -> None: ...

    def aim(self, state: int) -> None: ...

    def finish(self) -> None: ...

    def send(self, to: str, performative: str, content: str) -> None: ...


def known_actions() -> Actions:
    """Those that a plan may name, for reading it only."""
    return make_actions(None)


def make_actions(work: Work | None) -> Actions:
    """The actions of an agent, over those of AgentSpeak's own library."""
    actions = Actions(stdlib.actions)

    def doing() -> Work:
        if work is None:
            raise AslError("a plan that is only read does nothing")
        return work

    def option(_agent: Any, term: Any, intention: Any) -> Iterator[None]:
        name, epsilon, steps, until = _given(term, intention)
        held = None if _atom(epsilon, "epsilon") == ANNEAL else _share(epsilon)
        if doing().option(_atom(name, "name"), held, _whole(steps, "steps"), _until(until)):
            yield

    def send(_agent: Any, term: Any, intention: Any) -> Iterator[None]:
        to, performative, content = _given(term, intention)
        text = agentspeak.asl_str(agentspeak.freeze(content, intention.scope, {}))
        doing().send(_atom(to, "receiver"), _atom(performative, "performative"), text)
        yield

    def look(_agent: Any, _term: Any, _intention: Any) -> Iterator[None]:
        doing().look()
        yield

    def finish(_agent: Any, _term: Any, _intention: Any) -> Iterator[None]:
        doing().finish()
        yield

    actions.add(".option", 4, option)
    actions.add(".send", 3, send)
    actions.add(".look", 0, look)
    actions.add(".finish", 0, finish)
    for name in ("best_action", "choose_action"):
        actions.add(f".{name}", 2, _asking(name, doing))
    for name in ("act", "avoid", "aim"):
        actions.add(f".{name}", 1, _doing(name, doing, _whole))
    actions.add(".set_epsilon", 1, _doing("set_epsilon", doing, lambda value, _what: _share(value)))
    return actions


def _asking(name: str, doing: Any) -> Any:
    def ask(_agent: Any, term: Any, intention: Any) -> Iterator[None]:
        state = agentspeak.grounded(term.args[0], intention.scope)
        answer = getattr(doing(), name)(_whole(state, "state"))
        if agentspeak.unify(term.args[1], answer, intention.scope, intention.stack):
            yield

    return ask


def _doing(name: str, doing: Any, read: Any) -> Any:
    def do(_agent: Any, term: Any, intention: Any) -> Iterator[None]:
        getattr(doing(), name)(read(_given(term, intention)[0], f"argument of .{name}"))
        yield

    return do


def _given(term: Any, intention: Any) -> list[Any]:
    return [agentspeak.grounded(argument, intention.scope) for argument in term.args]


def _atom(value: Any, what: str) -> str:
    if isinstance(value, Literal) and not value.args:
        return str(value.functor)
    if isinstance(value, str):
        return value
    if what == "epsilon":
        return ""
    raise AslError(f"the {what} must be a word, not {agentspeak.asl_str(value)}")


def _whole(value: Any, what: str) -> int:
    """Numbers that are written in a plan arrive as floats."""
    if isinstance(value, int | float) and not isinstance(value, bool) and value == int(value):
        return int(value)
    raise AslError(f"the {what} must be a whole number, not {agentspeak.asl_str(value)}")


def _share(value: Any) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1:
        return float(value)
    raise AslError(
        f"epsilon must be a number from 0 to 1, or {ANNEAL}, not {agentspeak.asl_str(value)}"
    )


def _until(value: Any) -> Until:
    word = _atom(value, "condition")
    if word not in list(Until):
        raise AslError(f"an option ends at {', '.join(Until)}, not at {word}")
    return Until(word)
