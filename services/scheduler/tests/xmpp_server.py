"""A real ejabberd at the place where a scheduler looks for it."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Self

import requests

from mosaic_contracts.xmpp import SERVER_FILE, XmppServer

_LAUNCHER = Path(__file__).parents[2] / "xmpp" / "serve.py"
EXIT_NOT_INSTALLED = 77


class TestXmppServer:
    """Started with `start`, ended with `stop`; its accounts stay in between."""

    __test__ = False

    def __init__(self, home: Path) -> None:
        self._folder = (home / SERVER_FILE).parent
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> Self | None:
        """Start it and wait until agents could log in. None: this machine has no ejabberd."""
        self._process = subprocess.Popen(
            [sys.executable, str(_LAUNCHER), "--home", str(self._folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        said = self._process.stdout.readline()
        if not said and self._process.wait() == EXIT_NOT_INSTALLED:
            self.stop()
            return None
        self.facts = XmppServer.model_validate(json.loads(said)["server"])
        return self

    def stop(self) -> None:
        """End it."""
        if self._process is not None:
            self._process.communicate()
            self._process = None

    def has(self, user: str) -> bool:
        """Whether there is such an account."""
        if self._call("register", user, password="x") == 409:
            return True
        assert self._call("unregister", user) == 200
        return False

    def _call(self, verb: str, user: str, **more: str) -> int:
        password = (self._folder / self.facts.password_file).read_text().strip()
        body = {"user": user, "host": self.facts.domain, **more}
        url, auth = f"{self.facts.api_url}/{verb}", (self.facts.user, password)
        with requests.Session() as session:
            session.trust_env = False
            return session.post(url, json=body, auth=auth, timeout=60).status_code
