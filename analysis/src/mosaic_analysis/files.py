"""The files of a result: the result itself, its tables and its pictures."""

from pathlib import Path

from mosaic_analysis.pictures import draw
from mosaic_analysis.tables import latex, markdown
from mosaic_base.atomic import atomic_file, replace_file
from mosaic_contracts.comparison_orders import DARK_PICTURE, PICTURE
from mosaic_contracts.comparisons import ActorsResult, TrainingResult

RESULT, MARKDOWN, LATEX, PICTURES = "result.json", "table.md", "table.tex", ("picture.svg", PICTURE)


def write_files(result: ActorsResult | TrainingResult, folder: Path, *, dark: bool = False) -> None:
    """Write result, tables and picture into a folder; files of these names are replaced.

    Args:
        result: what is written.
        folder: it exists.
        dark: whether the picture is written on a dark ground, too.

    Raises:
        OSError: a file cannot be written.
    """
    replace_file(folder / RESULT, result.model_dump_json(indent=2) + "\n")
    replace_file(folder / MARKDOWN, markdown(result))
    replace_file(folder / LATEX, latex(result))
    for name in PICTURES:
        with atomic_file(folder / name) as draft:
            draw(result, draft, Path(name).suffix.removeprefix("."))
    if dark:
        with atomic_file(folder / DARK_PICTURE) as draft:
            draw(result, draft, "png", dark=True)
