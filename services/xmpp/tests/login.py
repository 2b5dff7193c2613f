"""A client that speaks as much XMPP as a login takes, so that tests depend on no agent library."""

import base64
import socket
import ssl
from pathlib import Path

import serve

AUTH = "<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='PLAIN'>{}</auth>"
REGISTER = (
    "<iq type='set' id='1' to='{}'><query xmlns='jabber:iq:register'>"
    "<username>intruder</username><password>x</password></query></iq>"
)


class Session:
    """One connection to the server."""

    def __init__(self, port: int, domain: str) -> None:
        self._domain = domain
        self._stream = socket.create_connection((serve.HOST, port), 10)
        self.features = self._begin()

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def encrypt(self, ca_file: Path, name: str) -> None:
        """STARTTLS. Raises ssl.SSLCertVerificationError when the certificate is not for `name`."""
        self.say("<starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>", "proceed")
        context = ssl.create_default_context(cafile=str(ca_file))
        self._stream = context.wrap_socket(self._stream, server_hostname=name)
        self.features = self._begin()

    def log_in(self, user: str, password: str) -> bool:
        """Whether the server knows this account."""
        word = base64.b64encode(f"\0{user}\0{password}".encode()).decode()
        return "<success" in self.say(AUTH.format(word), "success", "failure")

    def register(self) -> str:
        """Try to make an account without being asked; what the server says."""
        return self.say(REGISTER.format(self._domain), "iq", "/stream:stream")

    def open_session(self) -> str:
        """Bind a resource after a login: from then on others can talk to it. What the server says."""
        self._begin()
        bind = "<iq type='set' id='2'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/></iq>"
        return self.say(bind, "/iq", "/stream:stream")

    def say(self, text: str, *ends: str) -> str:
        """Send, and read until one of these elements is there, or the server has closed."""
        self._stream.sendall(text.encode())
        said = ""
        while not any(f"<{end}" in said and said.endswith(">") for end in ends):
            part = self._stream.recv(4096)
            if not part:
                break
            said += part.decode()
        return said

    def _begin(self) -> str:
        return self.say(serve.HEADER.format(self._domain), "/stream:features")
