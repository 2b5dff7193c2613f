"""Any program as a worker: what it prints becomes a run's events. `docs/worker_author.md` says which lines count."""
