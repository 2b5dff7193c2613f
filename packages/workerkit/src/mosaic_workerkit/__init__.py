"""What a worker author imports: outbox, runner, shipper, control, entry point."""
