"""The only door: REST and WebSocket over store and broker."""
