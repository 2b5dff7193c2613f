"""The only door: REST and WebSocket over store and broker."""

VERSION = "0.1.0"
