"""The user's keyring, by `python -m mosaic_gui.state.user_keyring get|set`; `set` reads the value from stdin.

A process of its own, for a keyring may ask the user to be unlocked and answer after minutes, or never; a client that
closes ends it. What it prints is an `Answer` as JSON.
"""

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum

from mosaic_contracts.tracking import WANDB_SECRET

SERVICE = "mosaic"
"""Under this and the secret's own name: `keyring set mosaic WANDB_API_KEY`."""


class Said(StrEnum):
    """Result of a keyring request."""

    FOUND = "found"
    KEPT = "kept"
    EMPTY = "empty"
    """The keyring has no key."""
    NONE = "none"
    """There is no keyring on this machine."""
    LOCKED = "locked"
    """The keyring is locked and was not unlocked."""
    REFUSED = "refused"


@dataclass(frozen=True)
class KeyringAnswer:
    """One answer; `repr` is for logs."""

    said: Said
    value: str = ""
    why: str = ""

    def __repr__(self) -> str:
        return f"Answer({self.said})"

    @classmethod
    def read(cls, text: str) -> "KeyringAnswer":
        """Parse the output of the process.

        Raises:
            ValueError: it is no answer.
        """
        reported = json.loads(text)
        if not isinstance(reported, Mapping):
            raise ValueError("no answer")
        return cls(
            Said(str(reported.get("said"))),
            str(reported.get("value", "")),
            str(reported.get("why", "")),
        )


def ask(verb: str, value: str) -> KeyringAnswer:
    """Read the key, or keep this one. It may block."""
    # here and not above: only this process pays for its import
    import keyring
    from keyring.errors import KeyringError, KeyringLocked, NoKeyringError

    try:
        if verb == "set":
            keyring.set_password(SERVICE, WANDB_SECRET, value)
            return KeyringAnswer(Said.KEPT)
        found = keyring.get_password(SERVICE, WANDB_SECRET)
    except NoKeyringError:
        return KeyringAnswer(Said.NONE)
    except KeyringLocked as error:
        return KeyringAnswer(Said.LOCKED, why=str(error))
    except (KeyringError, OSError) as error:
        return KeyringAnswer(Said.REFUSED, why=str(error) or type(error).__name__)
    return KeyringAnswer(Said.FOUND, found) if found else KeyringAnswer(Said.EMPTY)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asdict(ask(sys.argv[1], sys.stdin.read()))))
