"""Tables of a result as Markdown and LaTeX."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from mosaic_contracts.comparison_words import estimate_text, number_text
from mosaic_contracts.comparisons import (
    ActorsResult,
    PairStatistics,
    ResamplingFacts,
    TrainingResult,
)

_TEX = str.maketrans(
    {
        "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
        "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "–": "--",
    }
)  # fmt: skip


_MINUS = re.compile(r"(?<![\w.-])-(?=[\d.])")


@dataclass(frozen=True)
class TextTable:
    """One table.

    Attributes:
        title: above it.
        heads: of the columns; the first one is text, the others are figures.
        rows: texts of the cells.
    """

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]


def tables_of(result: ActorsResult | TrainingResult) -> list[TextTable]:
    """Return the tables of a result."""
    if isinstance(result, ActorsResult):
        return [_actors(result), _pairs(f"Differences in {result.environment}", result.pairs)]
    tables = [_groups(result)]
    if result.methods:
        tables.append(_methods(result))
    if result.pairs:
        tables.append(_pairs("Differences of final returns", result.pairs))
    return tables


def markdown(result: ActorsResult | TrainingResult) -> str:
    """Return the tables as Markdown, with everything that a reader must know below them."""
    parts = [_markdown_table(table) for table in tables_of(result)]
    notes = [f"- {note}" for note in (method_text(result.resampling), *result.notes)]
    return "\n\n".join([*parts, "\n".join(notes)]) + "\n"


def latex(result: ActorsResult | TrainingResult) -> str:
    """Return the tables as LaTeX, for a paper that uses the package booktabs."""
    parts = ["% needs \\usepackage{booktabs}"]
    parts += [_latex_table(table) for table in tables_of(result)]
    notes = (method_text(result.resampling), *result.notes)
    parts.append("\n\n".join(r"\noindent\footnotesize " + _tex(note) for note in notes))
    return "\n\n".join(parts) + "\n"


def method_text(facts: ResamplingFacts) -> str:
    """Return how intervals were made, in a sentence."""
    return (
        f"Intervals: {facts.confidence * 100:g} %, {facts.method} bootstrap with {facts.resamples:,} resamples. "
        "IQM: interquartile mean. P(X>Y): probability of improvement (Agarwal et al. 2021)."
    )


def _actors(result: ActorsResult) -> TextTable:
    has_gap = any(actor.optimality_gap is not None for actor in result.actors)
    heads = ["actor", "episodes", "mean", "IQM", "median", "lowest", "highest"]
    rows = []
    for actor in result.actors:
        row = [actor.name, str(actor.episodes)]
        row += [estimate_text(each) for each in (actor.mean, actor.iqm, actor.median)]
        row += [number_text(actor.lowest), number_text(actor.highest)]
        if has_gap:
            gap = actor.optimality_gap
            row.append("" if gap is None else estimate_text(gap))
        rows.append(row)
    return TextTable(f"Returns in {result.environment}", heads + ["optimality gap"] * has_gap, rows)


def _pairs(title: str, pairs: Sequence[PairStatistics]) -> TextTable:
    several = len({pair.environment for pair in pairs}) > 1
    is_paired = any(pair.seeds for pair in pairs)
    heads = ["X and Y", *(["environment"] * several), "X - Y (mean)", "X - Y (IQM)", "P(X>Y)"]
    heads += [*(["seeds won, tied, lost"] * is_paired), "verdict"]
    rows = []
    for pair in pairs:
        row = [f"{pair.first} and {pair.second}"]
        row += [pair.environment or "all, in scores"] * several
        row += [estimate_text(each) for each in (pair.mean_difference, pair.iqm_difference)]
        row.append(estimate_text(pair.improvement, decimals=2))
        if is_paired:
            counts = (pair.wins, pair.ties, pair.losses)
            row.append("not paired" if not pair.seeds else ", ".join(map(str, counts)))
        rows.append([*row, pair.verdict])
    return TextTable(title, heads, rows)


def _groups(result: TrainingResult) -> TextTable:
    has_threshold = any(group.threshold is not None for group in result.groups)
    heads = ["group", "environment", "runs", "final return (IQM)", "mean return over steps (IQM)"]
    heads += ["steps to threshold (median)", "reached"] * has_threshold
    rows = []
    for group in result.groups:
        row = [group.name, group.environment, str(group.runs)]
        row += [estimate_text(group.final), estimate_text(group.area)]
        if has_threshold and group.steps_to_threshold is not None:
            row.append(estimate_text(group.steps_to_threshold, decimals=0))
            row.append(f"{group.reached} of {group.runs} ({number_text(group.threshold)})")
        elif has_threshold:
            row += ["", "no threshold"]
        rows.append(row)
    return TextTable("Trainings", heads, rows)


def _methods(result: TrainingResult) -> TextTable:
    heads = ["method", "environments", "mean", "IQM", "median", "optimality gap"]
    rows = [
        [
            method.name,
            str(method.environments),
            *(
                estimate_text(each, decimals=2)
                for each in (method.mean, method.iqm, method.median, method.optimality_gap)
            ),
        ]
        for method in result.methods
    ]
    return TextTable("Scores over all environments", heads, rows)


def _markdown_table(table: TextTable) -> str:
    align = [":---", *("---:" for _ in table.heads[1:])]
    lines = [f"**{table.title}**", ""]
    lines += [_markdown_row(row) for row in (table.heads, align, *table.rows)]
    return "\n".join(lines)


def _markdown_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _latex_table(table: TextTable) -> str:
    lines = [r"\begin{table}", r"\centering", rf"\caption{{{_tex(table.title)}}}"]
    lines += [rf"\begin{{tabular}}{{l{'r' * (len(table.heads) - 1)}}}", r"\toprule"]
    lines += [_latex_row(table.heads), r"\midrule", *map(_latex_row, table.rows)]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}"])


def _latex_row(cells: Sequence[str]) -> str:
    return " & ".join(_tex(cell) for cell in cells) + r" \\"


def _tex(text: str) -> str:
    text = text.translate(_TEX).replace("P(X>Y)", r"$P(X>Y)$").replace("X - Y", "$X - Y$")
    return _MINUS.sub("$-$", text)
