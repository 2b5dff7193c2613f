"""A result in the terminal."""

from collections.abc import Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from mosaic_cli.output import out
from mosaic_contracts.comparison_words import estimate_text
from mosaic_contracts.comparisons import TOO_FEW, ActorsResult, PairStatistics, TrainingResult


def print_actors(result: ActorsResult) -> None:
    """Print actors, pairs and notes."""
    has_gap = any(actor.optimality_gap for actor in result.actors)
    heads = ["actor", "episodes", "mean", "IQM", "median", *(["optimality gap"] * has_gap)]
    table = _table(f"Returns in {result.environment}", heads)
    for actor in result.actors:
        row = [actor.name, str(actor.episodes)]
        row += [estimate_text(each) for each in (actor.mean, actor.iqm, actor.median)]
        table.add_row(*row, *([estimate_text(actor.optimality_gap)] * has_gap))
    out.print(table)
    _print_pairs(result.pairs)
    _print_notes(result.notes, result.resampling.confidence)


def print_trainings(result: TrainingResult) -> None:
    """Print groups, methods over environments, pairs and notes."""
    has_threshold = any(group.threshold is not None for group in result.groups)
    heads = ["group", "environment", "runs", "final return", "mean return"]
    heads += ["steps to threshold", "reached"] * has_threshold
    table = _table("Trainings (IQM over runs)", heads)
    for group in result.groups:
        row = [group.name, group.environment, str(group.runs)]
        row += [estimate_text(group.final), estimate_text(group.area)]
        if has_threshold:
            row.append(estimate_text(group.steps_to_threshold))
            row.append("-" if group.reached is None else f"{group.reached} of {group.runs}")
        table.add_row(*row)
    out.print(table)
    if result.methods:
        heads = ["method", "mean", "IQM", "median", "optimality gap"]
        table = _table("Scores over all environments", heads)
        for method in result.methods:
            figures = (method.mean, method.iqm, method.median, method.optimality_gap)
            table.add_row(method.name, *(estimate_text(each) for each in figures))
        out.print(table)
    _print_pairs(result.pairs)
    _print_notes(result.notes, result.resampling.confidence)


def _print_pairs(pairs: Sequence[PairStatistics]) -> None:
    if not pairs:
        return
    several = len({pair.environment for pair in pairs}) > 1
    heads = ["X", "Y", *(["environment"] * several), "X - Y", "P(X>Y)", "pairs", "verdict"]
    table = _table("Differences of the means", heads)
    for pair in pairs:
        row = [pair.first, pair.second, *([pair.environment or "all, in scores"] * several)]
        row += [estimate_text(pair.mean_difference), estimate_text(pair.improvement)]
        row.append(str(pair.seeds) if pair.seeds else "not paired")
        style = "yellow" if pair.higher is None else "green"
        table.add_row(*row, Text(pair.verdict, style))
    out.print(table)


def _print_notes(notes: Sequence[str], confidence: float) -> None:
    out.print(f"In brackets: {confidence * 100:g} % bootstrap intervals.", style="dim")
    for note in notes:
        style = "yellow" if note.startswith(TOO_FEW) else "dim"
        out.print(note, style=style, soft_wrap=True)


def _table(title: str, heads: Sequence[str]) -> Table:
    table = Table(title=title, box=box.SIMPLE, title_justify="left", title_style="bold")
    for head in heads:
        table.add_column(head, justify="left" if head in _WORDS else "right", overflow="fold")
    return table


_WORDS = ("actor", "group", "method", "environment", "X", "Y", "verdict")
"""Columns of text."""
