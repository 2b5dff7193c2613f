"""Ports of the embedded stack, all on 127.0.0.1."""

import socket
from collections.abc import Iterable
from dataclasses import dataclass

from mosaic_cli.errors import PortTaken
from mosaic_cli.stack.process import port_owner

HOST = "127.0.0.1"
_ANY = ("0.0.0.0", "::")  # noqa: S104 - compared, not listened on


@dataclass(frozen=True)
class Ports:
    """Where the stack listens."""

    gateway: int
    broker: int
    broker_bind: str = ""
    """Address that the broker listens on, with TLS; empty: loopback, in the clear."""

    @property
    def gateway_url(self) -> str:
        return f"http://{HOST}:{self.gateway}"

    @property
    def broker_host(self) -> str:
        """Address by which services reach the broker."""
        return HOST if self.broker_bind in ("", *_ANY) else self.broker_bind

    @property
    def broker_url(self) -> str:
        host = f"[{self.broker_host}]" if ":" in self.broker_host else self.broker_host
        return f"{'tls' if self.broker_bind else 'nats'}://{host}:{self.broker}"


def default_runs_url(ports: Ports) -> str | None:
    """How other machines reach a broker that listens on every address: by this machine's name. None: it does not."""
    return f"tls://{socket.gethostname()}:{ports.broker}" if ports.broker_bind in _ANY else None


def choose_ports(
    gateway: int | None,
    broker: int | None,
    earlier: Ports | None = None,
    broker_bind: str = "",
) -> Ports:
    """Ports for a start: those asked for, else the ones of the last time where free, else any free ones.

    A stack that comes back on its old address is found again by clients that follow it.

    Raises:
        PortTaken: one that was asked for is in use.
    """
    for what, option, port in (("gateway", "--port", gateway), ("broker", "--broker-port", broker)):
        if port is not None and not is_free(port):
            raise PortTaken(f"{clash(what, port)} Stop it, or choose another port with {option}.")
    taken = {port for port in (gateway, broker) if port is not None}

    def choose(asked: int | None, old: int | None) -> int:
        port = asked if asked is not None else free_port(old, taken)
        taken.add(port)
        return port

    return Ports(
        gateway=choose(gateway, earlier.gateway if earlier else None),
        broker=choose(broker, earlier.broker if earlier else None),
        broker_bind=broker_bind,
    )


def clash(what: str, port: int) -> str:
    """A sentence that names the port and, where it can be read, who has it."""
    owner = port_owner(port)
    who = f"by pid {owner[0]} ({owner[1]})" if owner else "by a program that is not ours to see"
    return f"Port {port} of the {what} is taken {who}."


def is_free(port: int) -> bool:
    """Whether a server could listen on the port now."""
    with socket.socket() as probe:
        # as the servers themselves do: a port in TIME_WAIT is free
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def free_port(earlier: int | None, taken: Iterable[int] = ()) -> int:
    """The port of the last time where it is free, else any free one."""
    known = set(taken)
    if earlier is not None and earlier not in known and is_free(earlier):
        return earlier
    return _any_free(known)


def _any_free(taken: Iterable[int]) -> int:
    while True:
        with socket.socket() as probe:
            probe.bind((HOST, 0))
            port = int(probe.getsockname()[1])
        if port not in taken:
            return port
