"""What a run was given to log in with."""

from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError

from mosaic_contracts.xmpp import ENV_XMPP_FILE, XmppAccess
from mosaic_worker_spade.errors import XmppUnusable


def read_access(environ: Mapping[str, str], agents: int = 0) -> XmppAccess:
    """Read the file that MOSAIC_XMPP_FILE names.

    Args:
        agents: how many accounts are needed.

    Raises:
        XmppUnusable: there is none, it cannot be read, or it holds too few accounts.
    """
    path = environ.get(ENV_XMPP_FILE)
    if not path:
        raise XmppUnusable(
            "account",
            f"{ENV_XMPP_FILE} is not set, so the agents have no accounts. A stack sets it; start its server with "
            "`./mosaic xmpp up` and submit the run there.",
        )
    try:
        access = XmppAccess.model_validate_json(Path(path).read_bytes())
    except (OSError, ValidationError) as error:
        # a validation error's own words would show what it read, passwords too
        why = type(error).__name__ if isinstance(error, ValidationError) else str(error)
        raise XmppUnusable(
            "account", f"{path} cannot be read ({why}). A stack writes it."
        ) from None
    if len(access.accounts) < agents:
        raise XmppUnusable(
            "account",
            f"{path} has {len(access.accounts)} accounts and the run has {agents} agents. "
            "The stack makes one for each; is `agents` set as a parameter of the run?",
        )
    return access
