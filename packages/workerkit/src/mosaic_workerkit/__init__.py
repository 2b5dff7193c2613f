"""What a worker author imports: outbox, runner, shipper, control, entry point.

Nothing is imported here: the runner lives in this package and must start on the standard library alone.
"""
