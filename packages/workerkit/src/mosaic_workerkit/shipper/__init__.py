"""The process next to a trainer that sends its outbox to the broker. Run as `python -m mosaic_workerkit.shipper`."""
