"""Display names."""

import re
from datetime import datetime

from mosaic_contracts.spec import RunSpec

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def display_name(spec: RunSpec, now: datetime) -> str:
    """`<env>__<algo>__<seed>__<YYYYmmdd-HHMMSS>` in local time, or the name that the spec gives."""
    if spec.name is not None:
        return spec.name
    environment, algorithm = (_UNSAFE.sub("-", part) for part in (spec.environment, spec.algorithm))
    return f"{environment}__{algorithm}__{spec.seed}__{now.astimezone():%Y%m%d-%H%M%S}"
