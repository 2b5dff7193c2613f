"""Any program as a worker: what it prints becomes a run's events. `docs/any_program.md` says which lines count."""
