"""The WebSocket `/live`."""

from fastapi import APIRouter, WebSocket

from mosaic_gateway.doors import Parts
from mosaic_gateway.live.client import LiveClient
from mosaic_gateway.live.wire_format import FORMATS

router = APIRouter()

UNSUPPORTED = 1002


@router.websocket("/live")
async def live(socket: WebSocket) -> None:
    """Follow runs; frames are `mosaic_contracts.live`. Guard has checked Host, Origin and token already."""
    parts: Parts = socket.app.state.parts
    asked = socket.scope.get("subprotocols", [])
    chosen = next((name for name in asked if name in FORMATS), None)
    if chosen is None:
        # A client that offers none of them would not understand a frame.
        await socket.close(UNSUPPORTED, f"offer one of the subprotocols {', '.join(FORMATS)}")
        return
    await socket.accept(subprotocol=chosen)
    await parts.hub.serve(LiveClient(socket, FORMATS[chosen], parts.hub, parts.hub.history))
