"""Why a reading session ends. None of them ends the service."""


class RecorderError(Exception):
    """Base of the recorder's own errors."""


class StreamMoved(RecorderError):
    """The stream was deleted or created again, or its sequence went back: read it again from the right place."""


class ConsumerLost(RecorderError):
    """Messages may have been missed (consumer gone, connection renewed, silence): read again from the cursor."""


class DiskReserveReached(RecorderError):
    """Fewer free bytes than the reserve: nothing is taken until there are more."""
