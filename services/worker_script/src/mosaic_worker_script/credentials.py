"""Masks what looks like a credential in text that is recorded: a script, a diff, an address."""

import os
import re
from collections.abc import Mapping

from mosaic_contracts.script_variables import SECRET_NAMES, names_a_secret
from mosaic_workerkit.masking import SecretMask, read_secrets

MASK = "[masked]"
_MIN_CHARS = 8
"""A shorter value of a variable occurs in too many other words."""
_FORMS = (
    r"gh[pousr]_[A-Za-z0-9]{30,}",  # GitHub
    r"github_pat_\w{40,}",
    r"glpat-[\w-]{20,}",  # GitLab
    r"hf_[A-Za-z0-9]{30,}",  # Hugging Face
    r"sk-[\w-]{20,}",  # OpenAI, Anthropic
    r"(?:AKIA|ASIA)[0-9A-Z]{16}",  # AWS
    r"AIza[\w-]{35}",  # Google
    r"xox[abprs]-[\w-]{10,}",  # Slack
    r"pypi-[\w-]{50,}",
    r"wandb_v1_\w{20,}",
    r"eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]+",  # JSON web tokens
)
_FORM = re.compile(rf"\b(?:{'|'.join(_FORMS)})")
_PRIVATE_KEY = re.compile(r"(-----BEGIN [A-Z ]*PRIVATE KEY-----).*?(?=-----END|\Z)", re.DOTALL)
_USER_INFO = re.compile(r"(://[^/@\s:]*:)[^/@\s]+(?=@)")
_ASSIGNED = re.compile(
    rf"""(\b\w*{SECRET_NAMES}s?\d*["'\]]*\s*(?::\s*\w+\s*)?[:=]\s*[rbuf]?)(["'])(?:(?!\2)[^\n\\]|\\.){{6,}}\2""",
    re.IGNORECASE,
)
_KEY = re.compile(r"""(\bkey\s*=\s*)(["'])[0-9A-Fa-f]{32,}\2""")
"""`wandb.login(key="...")`."""


class CredentialMask:
    """Masks the secrets of a run, values of variables that are named like one, and what has the form of one.

    Args:
        environ: environment variables of the run.
    """

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        named = {
            name: value
            for name, value in environ.items()
            if names_a_secret(name) and len(value) >= _MIN_CHARS and "/" not in value
        }
        self._secrets = SecretMask({**named, **read_secrets(environ)})

    def in_text(self, text: str) -> str:
        """Return the text with a mask in place of each credential."""
        text = self._secrets.in_text(text)
        text = _PRIVATE_KEY.sub(rf"\1{MASK}", text)
        text = _FORM.sub(MASK, text)
        text = _USER_INFO.sub(rf"\1{MASK}", text)
        text = _KEY.sub(rf"\1\2{MASK}\2", text)
        return _ASSIGNED.sub(rf"\1\2{MASK}\2", text)
