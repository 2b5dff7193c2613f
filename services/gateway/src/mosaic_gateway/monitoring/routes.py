"""`/metrics`, for Prometheus: scrape it with the bearer token."""

from fastapi import APIRouter
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4
from starlette.responses import PlainTextResponse, Response

from mosaic_gateway.doors import PartsOf

router = APIRouter(tags=["health"])


@router.get("/metrics", response_class=PlainTextResponse)
async def get_metrics(parts: PartsOf) -> Response:
    """Runs by state, events stored, recorder lag, live clients, missed events, request durations."""
    return Response(await parts.scrape.text(), media_type=CONTENT_TYPE_PLAIN_0_0_4)
