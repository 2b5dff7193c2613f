"""`python -m mosaic_analysis [--output FOLDER]`: a document on stdin, one line of JSON with its result on stdout."""

import argparse
import json
import os
import sys
from pathlib import Path
from typing import NoReturn

from mosaic_base.imports import large_imports

with large_imports():
    from pydantic import ValidationError

    from mosaic_contracts.comparisons import (
        ActorsDocument,
        ActorsResult,
        SamenessDocument,
        SamenessResult,
        TrainingDocument,
        TrainingResult,
        document_adapter,
    )
    from mosaic_contracts.fault import fault_place, fault_text

_FAILED = 1


def main() -> None:
    """Make one analysis. A fault is one line with `problem` on stdout and exit code 1."""
    parser = argparse.ArgumentParser(prog="mosaic_analysis", description=__doc__)
    parser.add_argument("--output", type=Path, help="folder for the result, its tables and a picture")  # fmt: skip
    folder: Path | None = parser.parse_args().output
    try:
        document = document_adapter.validate_json(sys.stdin.buffer.read())
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
        result = _analyse(document)
        if folder is not None and not isinstance(result, SamenessResult):
            from mosaic_analysis.files import write_files  # takes half a second to import

            write_files(result, folder)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        _fail(f"The document is not valid: {fault_place(fault)} {fault_text(fault)}.")
    except OSError as error:
        _fail(f"{error.filename or folder} cannot be written ({error.strerror or error}).")
    _say(result=json.loads(result.model_dump_json()))


def _analyse(
    document: ActorsDocument | TrainingDocument | SamenessDocument,
) -> ActorsResult | TrainingResult | SamenessResult:
    # scipy takes a second to import; a document that is refused does not wait for it
    if isinstance(document, ActorsDocument):
        from mosaic_analysis.actors import compare_actors

        return compare_actors(document)
    if isinstance(document, SamenessDocument):
        from mosaic_analysis.sameness import compare_trainings

        return compare_trainings(document)
    from mosaic_analysis.trainings import compare_groups

    return compare_groups(document)


def _say(**fields: object) -> None:
    sys.stdout.write(json.dumps(fields, allow_nan=False) + "\n")
    sys.stdout.flush()


def _fail(text: str) -> NoReturn:
    _say(problem=text)
    os._exit(_FAILED)


if __name__ == "__main__":
    main()
