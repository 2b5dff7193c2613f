"""Which addresses are this machine's."""

import socket

import pytest

from mosaic_base.own_machine import first_elsewhere


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["127.0.0.1", "localhost"], ""),
        ([], ""),
        (["127.0.0.1", "203.0.113.1", "203.0.113.2"], "203.0.113.1"),  # addresses for documentation
        (["no-such-host.invalid"], "no-such-host.invalid"),
    ],
)
def test_the_first_name_of_another_machine(names: list[str], expected: str) -> None:
    """Loopback is this machine; a name that nobody knows is another one's."""
    assert first_elsewhere(names) == expected


def test_an_address_of_an_interface_is_this_machine() -> None:
    """Not only loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("203.0.113.1", 9))  # sends nothing; chooses an interface
        except OSError:
            pytest.skip("NOT TESTED: this machine has no network")
        own = str(probe.getsockname()[0])
    assert first_elsewhere([own]) == ""
