"""Typed HTTP and WebSocket client for scripts and notebooks."""
