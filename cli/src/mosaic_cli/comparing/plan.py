"""What is compared, from a file or the command line."""

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from mosaic_cli.errors import ValueRefused
from mosaic_cli.reference import did_you_mean
from mosaic_cli.spec_source import read_spec_file
from mosaic_contracts.comparisons import MOST_ACTORS, RANDOM, ActorWish, ComparisonFile, ScoreRange
from mosaic_contracts.fault import fault_place, fault_text

_ENDINGS = (".yaml", ".yml", ".json")
_MODELS: dict[str, type[BaseModel]] = {"actors": ActorWish, "score_range": ScoreRange}
"""Models of the fields that are mappings."""


def is_file(word: str) -> bool:
    """Whether a word of the command line names a comparison file, and not an actor."""
    return word == "-" or word.endswith(_ENDINGS)


def comparison_of(words: list[str], given: dict[str, Any]) -> ComparisonFile:
    """Read what is compared; options of the command line win over the file.

    Args:
        words: one file, or the actors.
        given: fields that options set.

    Raises:
        FileProblem: the file cannot be read.
        ValueRefused: it is not valid, or there are too few actors.
    """
    if len(words) == 1 and is_file(words[0]):
        fields = read_spec_file(Path(words[0])) | given
        where = words[0]
    else:
        _require_count(len(words))
        fields, where = {"actors": words, **given}, "The command line"
    try:
        found = ComparisonFile.model_validate(fields)
    except ValidationError as error:
        raise ValueRefused(f"{where} is no comparison. {_faults(error)}") from error
    return found


def _require_count(count: int) -> None:
    if not 2 <= count <= MOST_ACTORS:
        raise ValueRefused(
            f"A comparison has two to {MOST_ACTORS} actors, not {count}: runs, RUN@CHECKPOINT, or {RANDOM}. "
            "`./mosaic compare last@best last@last random`"
        )


def _faults(error: ValidationError) -> str:
    words = []
    for found in error.errors(include_url=False):
        text = f"{fault_place(found)}: {fault_text(found)}."
        if found["type"] == "extra_forbidden":
            model = _MODELS.get(
                str(found["loc"][0]) if len(found["loc"]) > 1 else "", ComparisonFile
            )
            text += f" {did_you_mean(str(found['loc'][-1]), model.model_fields)}"
        words.append(text)
    return " ".join(words).strip()
