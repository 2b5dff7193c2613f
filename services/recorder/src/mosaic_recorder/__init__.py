"""JetStream consumer into the store; prune; run summaries."""

VERSION = "0.1.0"
