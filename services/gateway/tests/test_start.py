"""What the gateway does not import, so that a stack starts quickly."""

from mosaic_servicekit.testing.start import imported_at_start

SELDOM = ("httpx._client", "nats.js.api", "numpy.linalg", "pydantic.v1")


def test_a_gateway_loads_what_few_stacks_need_on_use() -> None:
    """HTTP to workers, JetStream, the arithmetic of curves: a sixth of a start's CPU time."""
    assert imported_at_start("mosaic_gateway.__main__", SELDOM) == []
