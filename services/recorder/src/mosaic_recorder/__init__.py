"""JetStream consumer into the store; prune; run summaries."""
