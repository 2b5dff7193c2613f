"""A real ejabberd for tests, with accounts as the scheduler makes them."""

import base64
import json
import secrets
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

SERVE = Path(__file__).resolve().parents[2] / "xmpp" / "serve.py"
NOT_INSTALLED = 77


class LocalXmppServer:
    """One server in a folder of its own."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self.home = Path()
        self.facts: dict[str, Any] = {}

    def start(self, home: Path | None = None) -> bool:
        """Start it, again with the same ports where `home` has been its folder; False: there is no ejabberd here."""
        argv = [sys.executable, str(SERVE), *(["--home", str(home)] if home else [])]
        process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self._process = process
        if process.stdout is None:
            raise AssertionError("no pipe")
        line = process.stdout.readline()
        if not line:
            code = process.wait()
            said = process.stderr.read() if process.stderr else ""
            self.stop()
            if code == NOT_INSTALLED:
                return False
            raise AssertionError(f"the server did not start: {said}")
        reported = json.loads(line)
        self.home, self.facts = Path(reported["home"]), reported["server"]
        return True

    @property
    def is_running(self) -> bool:
        """Whether it was started and not stopped since."""
        return self._process is not None

    def stop(self) -> None:
        """End it."""
        process, self._process = self._process, None
        if process is None:
            return
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()
        process.wait(60)

    def register(self, name: str) -> dict[str, str]:
        """Make an account."""
        password = secrets.token_urlsafe(16)
        domain = self.facts["domain"]
        secret = (self.home / self.facts["password_file"]).read_text().strip()
        word = base64.b64encode(f"{self.facts['user']}:{secret}".encode()).decode()
        request = urllib.request.Request(
            f"{self.facts['api_url']}/register",
            json.dumps({"user": name, "host": domain, "password": password}).encode(),
            {"Authorization": f"Basic {word}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=60):
            return {"name": name, "jid": f"{name}@{domain}", "password": password}

    def access(self, agents: int = 1) -> dict[str, Any]:
        """What a run with so many agents is given."""
        run = secrets.token_hex(6)
        return {
            "v": 1,
            "host": self.facts["host"],
            "port": self.facts["port"],
            "domain": self.facts["domain"],
            "ca_file": str(self.home / self.facts["ca_file"]),
            "accounts": [self.register(f"{run}-{number}") for number in range(1, agents + 1)],
        }

    def write_access(self, path: Path, agents: int = 1) -> Path:
        """The same, as a file."""
        path.write_text(json.dumps(self.access(agents)))
        return path
