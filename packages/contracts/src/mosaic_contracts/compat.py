"""Names of the standard library that Python 3.10 lacks. Scripts of users may run on 3.10, services run on 3.11."""

import sys

if sys.version_info >= (3, 11):
    from datetime import UTC
    from enum import StrEnum
    from typing import Self, Unpack
else:
    from datetime import timezone
    from enum import Enum

    from typing_extensions import Self, Unpack

    UTC = timezone.utc

    class StrEnum(str, Enum):
        """An enum of texts that is its text, as `enum.StrEnum` is from 3.11 on."""

        def __str__(self) -> str:
            return str.__str__(self)

        def __format__(self, format_spec: str) -> str:
            return str.__format__(self, format_spec)


__all__ = ["UTC", "Self", "StrEnum", "Unpack"]
