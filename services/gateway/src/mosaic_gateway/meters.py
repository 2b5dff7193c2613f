"""What this process counts about itself; the rest is asked of the others when somebody scrapes."""

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
)

# A creation time for each series would double the number of series and is of no use.
disable_created_metrics()  # type: ignore[no-untyped-call]
REGISTRY = CollectorRegistry()
REQUEST_SECONDS = Histogram(
    "mosaic_gateway_request_seconds",
    "Time from a request to the end of its answer; of a WebSocket, its life is not counted.",
    ["method", "operation", "status"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10),
    registry=REGISTRY,
)
OPEN_CONNECTIONS = Gauge(
    "mosaic_gateway_connections",
    "Open connections; anonymous ones have not shown the token yet.",
    ["kind"],
    registry=REGISTRY,
)
FRAMES = Counter(
    "mosaic_live_frames",
    "Live frames for each client: sent, replaced by a newer one that came before it was sent, or invalid.",
    ["outcome"],
    registry=REGISTRY,
)
MISSED_EVENTS = Counter(
    "mosaic_live_missed_events",
    "Events that a live client had to read from the store, because it was too slow or the recorder was down.",
    registry=REGISTRY,
)
