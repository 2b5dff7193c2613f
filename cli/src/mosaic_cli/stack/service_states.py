"""States of a service in stack.json."""

STARTING, UP, BACKING_OFF, STOPPED = "starting", "up", "backing_off", "stopped"
