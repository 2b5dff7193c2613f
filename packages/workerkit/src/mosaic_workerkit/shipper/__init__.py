"""The process beside a trainer that carries its outbox to the broker. Run as `python -m mosaic_workerkit.shipper`."""
