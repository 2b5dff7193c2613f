"""What can go wrong with the store; every message says what to do next."""


class StoreError(Exception):
    """Base of all errors of the telemetry store."""


class StoreMissing(StoreError):
    """There is no store file yet: the recorder makes it when it starts."""


class StoreOutdated(StoreMissing):
    """The store is of another version, and a recorder brings it up to date when it starts."""


class StoreForeign(StoreError):
    """The file is something else, or was written by a newer version."""


class StoreWalRefused(StoreError):
    """The file system cannot keep a write-ahead log (some network and virtual file systems)."""


class StoreLocked(StoreError):
    """Another recorder writes this store."""


class StoreReplaced(StoreError):
    """The file was deleted or exchanged under an open writer."""


class StoreWriteFailed(StoreError):
    """A transaction could not be written (disk full, I/O error) and was rolled back as a whole."""


class ReadTooSlow(StoreError):
    """A read was interrupted because it took too long."""


class EpisodeNotStored(StoreError):
    """The store has no event of that episode."""


class MetricNotStored(StoreError):
    """The store has no point of that metric."""
