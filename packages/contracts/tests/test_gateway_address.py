"""The address of a gateway as users give it."""

import pytest

from mosaic_contracts.gateway_address import (
    AddressFault,
    AddressInvalid,
    checked_address,
    frames_address,
    is_loopback,
    live_address,
    token_in,
)


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("https://lab/", "https://lab"),
        ("https://lab/api/v1/runs", "https://lab"),
        (" https://lab ", "https://lab"),
        ("https://lab/mosaic/", "https://lab/mosaic"),
        ("http://[::1]:8420", "http://[::1]:8420"),
    ],
)
def test_an_address_is_taken_without_what_was_copied_with_it(given: str, address: str) -> None:
    """A slash, the path of a request or a blank more does not make it another stack; a path before /api stays."""
    assert checked_address(given) == address


@pytest.mark.parametrize(
    "given",
    ["", "lab:8443", "lab", "ftp://lab", "http://", "http://lab:x", "http://lab:0", "http://[::1"],
)
def test_other_texts_are_no_address(given: str) -> None:
    """A text without a scheme, a host or a valid port is refused as it was given."""
    with pytest.raises(AddressInvalid) as caught:
        checked_address(given)
    assert (caught.value.fault, caught.value.shown) == (AddressFault.NOT_AN_ADDRESS, given)


@pytest.mark.parametrize("extra", ["https://u:p@lab", "https://lab?token=p", "https://lab#p"])
def test_a_refused_address_shows_no_secret(extra: str) -> None:
    """User, password, query and fragment are refused, and the error shows the address without them."""
    with pytest.raises(AddressInvalid) as caught:
        checked_address(extra)
    assert (caught.value.fault, caught.value.shown) == (AddressFault.EXTRA_PARTS, "https://lab")


def test_what_follows_from_an_address() -> None:
    """WebSockets take the scheme that belongs to it, and a loopback address is known."""
    assert live_address("https://lab/mosaic") == "wss://lab/mosaic/api/v1/live"
    assert frames_address("http://127.0.0.1:1") == "ws://127.0.0.1:1/api/v1/frames"
    assert is_loopback("http://[::1]:8420")
    assert not is_loopback("https://lab")


@pytest.mark.parametrize(
    ("text", "token"),
    [("secret\n", "secret"), ("", None), ("two words", None), ("s\u00e9cret", None)],
)
def test_a_token_is_one_ascii_word(text: str, token: str | None) -> None:
    """The content of a wrong file is not taken for a token."""
    assert token_in(text) == token
