"""Facts about one step: action, plan, intentions and beliefs, with those just added and removed."""

from html import escape

from PyQt6.QtCore import Qt
from PyQt6.QtWidgets import QFrame, QTextBrowser

from mosaic_contracts.decisions import DecisionStep
from mosaic_gui.state import wording
from mosaic_gui.state.language import tr
from mosaic_gui.theme.current import current, on_theme
from mosaic_gui.viewmodels.beliefs import BeliefsModel
from mosaic_gui.views.text import replace_html

MOST_BELIEFS = 400
"""Beliefs that are shown at once."""


class BeliefFacts(QTextBrowser):
    """Text that can be selected and copied. Loads nothing from anywhere."""

    def __init__(self, model: BeliefsModel) -> None:
        super().__init__()
        self._model = model
        self._said = ""
        self.setObjectName("beliefs.facts")
        self.setAccessibleName(tr("Beliefs, plan and intentions at this step"))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setOpenLinks(False)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setMinimumWidth(190)
        model.decisions_changed.connect(self.refresh)
        model.place_changed.connect(self.refresh)
        on_theme(self, self.refresh)

    def refresh(self) -> None:
        """Show the chosen step."""
        decision = self._model.decision
        said = self._page(decision) if decision is not None else ""
        if said == self._said:
            return
        self._said = said
        replace_html(self, said)

    def _page(self, decision: DecisionStep) -> str:
        tokens = current()
        parts = [self._head(decision)]
        has_agent = "bdi" in self._model.namespaces
        if has_agent:
            parts += [
                _section(tr("Plan"), [_strong(decision.plan) if decision.plan else wording.NOTHING])
            ]
            goals = [_stack(text) for text in decision.intentions] or [wording.NOTHING]
            parts += [_section(tr("Intentions"), goals)]
            gone = [_coloured(f"− {b}", tokens.bad, struck=True) for b in decision.removed]
            fresh = set(decision.added) if decision.step > 1 else set()
            held = sorted(decision.beliefs, key=lambda belief: belief not in fresh)
            shown = [
                _coloured(f"+ {b}", tokens.ok) if b in fresh else escape(b)
                for b in held[:MOST_BELIEFS]
            ]
            title = tr("Beliefs") + f" · {len(held)}"
            parts += [_section(title, gone + shown or [wording.NOTHING])]
        parts += self._values(decision)
        if not self._model.is_kept:
            parts.append(_muted(tr("Beliefs of this long ago are no longer kept here in full.")))
        return "".join(parts)

    def _values(self, decision: DecisionStep) -> list[str]:
        """The value of each action where the agent stands, the best in bold."""
        grid, policy = self._model.grid, self._model.policy
        if grid is None or policy is None or decision.cell is None:
            return []
        cell = policy[decision.cell[0]][decision.cell[1]]
        lines = []
        for n, action in enumerate(grid.actions):
            text = f"{action.name}  {wording.number(cell.values[n])}"
            lines.append(_strong(text) if n in cell.best else escape(text))
        return [_section(tr("Values here"), lines)]

    def _head(self, decision: DecisionStep) -> str:
        tokens = current()
        where = ""
        if decision.cell is not None:
            row, column = decision.cell
            where = tr("at {row},{column}", row=row, column=column) + f" {decision.kind or ''}"
        sure = ""
        if decision.confidence is not None:
            sure = tr("{share} % sure", share=f"{100 * decision.confidence:.0f}")
        chance = _coloured(tr("explored"), tokens.warn) if decision.explored else ""
        reward = tr("reward {value}", value=wording.number(decision.reward))
        who = escape(decision.agent) if decision.agent else ""
        reported = " · ".join(part for part in (who, escape(where), sure, chance, reward) if part)
        title = tr("Step {n}", n=wording.count(decision.step))
        return (
            f"<p style='margin:2px 0 0 0; font-size:15px'><b>{title} → "
            f"{escape(decision.action_name)}</b></p>{_muted(reported)}"
        )


def _section(title: str, lines: list[str]) -> str:
    rows = "".join(f"<p style='margin:1px 0 1px 0'>{line}</p>" for line in lines)
    muted = current().muted
    return (
        f"<p style='margin:9px 0 2px 0; color:{muted}; font-size:11px'><b>{escape(title)}</b></p>"
        f"{rows}"
    )


def _stack(text: str) -> str:
    """An intention's goals from the bottom up; the last one is the present goal."""
    below, found, top = text.rpartition(" > ")
    lead = f"<span style='color:{current().muted}'>{escape(below)} › </span>" if found else ""
    return lead + _strong(top)


def _strong(text: str) -> str:
    return f"<b>{escape(text)}</b>"


def _muted(html: str) -> str:
    return f"<p style='margin:1px 0 0 0; color:{current().muted}; font-size:12px'>{html}</p>"


def _coloured(text: str, colour: str, *, struck: bool = False) -> str:
    line = "; text-decoration:line-through" if struck else ""
    return f"<span style='color:{colour}{line}'>{escape(text)}</span>"
