"""Whether the server can be used, step by step, so that what is wrong has a name: name, port, TLS or account.

The libraries below say the same of all of them ("could not authenticate"), or wait for ever.
"""

import base64
import re
import socket
import ssl
from contextlib import closing
from xml.sax.saxutils import quoteattr

from mosaic_contracts.xmpp import XmppAccess, XmppAccount
from mosaic_worker_spade.errors import XmppUnusable

TIMEOUT_S = 5.0
_MOST_BYTES = 64 * 1024
_HEADER = (
    "<?xml version='1.0'?><stream:stream to={} xmlns='jabber:client' "
    "xmlns:stream='http://etherx.jabber.org/streams' version='1.0'>"
)
_STARTTLS = "<starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>"


def probe(access: XmppAccess) -> None:
    """Go the way of a login, with each account.

    Raises:
        XmppUnusable: which step fails, and why.
    """
    accounts: list[XmppAccount | None] = [*access.accounts] or [None]
    for account in accounts:
        with closing(_connect(access)) as stream:
            secured = _secure(stream, access)
            with closing(secured):
                if account is not None:
                    _log_in(secured, access, account)


def _connect(access: XmppAccess) -> socket.socket:
    where = f"{access.host}:{access.port}"
    try:
        addresses = socket.getaddrinfo(access.host, access.port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise XmppUnusable(
            "name", f"the server's name {access.host!r} is not known here ({error.strerror})."
        ) from error
    fault: OSError | None = None
    for family, kind, protocol, _name, address in addresses:
        stream = socket.socket(family, kind, protocol)
        stream.settimeout(TIMEOUT_S)
        try:
            stream.connect(address)
        except OSError as error:
            stream.close()
            fault = error
        else:
            return stream
    raise XmppUnusable(
        "port",
        f"nobody answers at {where} ({fault}). Is the server up? `./mosaic xmpp up` starts it.",
    ) from fault


def _secure(stream: socket.socket, access: XmppAccess) -> ssl.SSLSocket:
    where = f"{access.host}:{access.port}"
    try:
        features = _ask(stream, _HEADER.format(quoteattr(access.domain)), b"</stream:features>")
    except OSError as error:
        raise XmppUnusable("port", f"{where} does not speak XMPP ({error}).") from error
    if b"host-unknown" in features:
        raise XmppUnusable(
            "name", f"the server at {where} does not serve the domain {access.domain!r}."
        )
    if b"starttls" not in features:
        raise XmppUnusable(
            "TLS", f"{where} offers no STARTTLS, and agents send no password without."
        )
    try:
        context = ssl.create_default_context(cafile=access.ca_file)
        _ask(stream, _STARTTLS, b"<proceed")
        return context.wrap_socket(stream, server_hostname=access.domain)
    except ssl.SSLCertVerificationError as error:
        raise XmppUnusable(
            "TLS",
            f"the certificate of {where} is not the one of {access.ca_file} for {access.domain!r} "
            f"({error.verify_message}). Was the server made again? Submit the run again.",
        ) from error
    except FileNotFoundError as error:
        raise XmppUnusable("TLS", f"the certificate {access.ca_file} is not there.") from error
    except OSError as error:
        raise XmppUnusable("TLS", f"no secure connection to {where} ({error}).") from error


def _log_in(stream: ssl.SSLSocket, access: XmppAccess, account: XmppAccount) -> None:
    user = account.jid.partition("@")[0]
    word = base64.b64encode(f"\0{user}\0{account.password.get_secret_value()}".encode()).decode()
    request = f"<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='PLAIN'>{word}</auth>"
    try:
        _ask(stream, _HEADER.format(quoteattr(access.domain)), b"</stream:features>")
        answer = _ask(stream, request, b">", until=rb"<(success|failure)[^>]*>.*")
    except OSError as error:
        raise XmppUnusable("account", f"{account.jid} could not log in ({error}).") from error
    if b"<success" not in answer:
        raise XmppUnusable(
            "account",
            f"the server refuses {account.jid}: there is no such account, or its password is another. "
            "A stack makes accounts for each run; submit it again.",
        )


def _ask(stream: socket.socket, request: str, end: bytes, until: bytes = b"") -> bytes:
    """Send, and read until the answer is whole. Raises OSError when it does not come."""
    stream.sendall(request.encode())
    said = b""
    while True:
        part = stream.recv(4096)
        said += part
        is_whole = re.search(until, said, re.DOTALL) if until else end in said
        if is_whole or b"</stream:stream>" in said:
            return said
        if not part or len(said) > _MOST_BYTES:
            raise OSError("the connection was closed in the middle")
