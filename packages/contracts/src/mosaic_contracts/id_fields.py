"""Types of model fields that hold an identifier."""

from typing import Annotated

from pydantic import StringConstraints

from mosaic_contracts.choices import RUN_ID_PATTERN, WORKER_ID_PATTERN

RunIdField = Annotated[str, StringConstraints(pattern=RUN_ID_PATTERN)]
WorkerIdField = Annotated[str, StringConstraints(pattern=WORKER_ID_PATTERN)]
