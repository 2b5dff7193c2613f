"""Types of events about trackers, for programs that read them without pydantic."""

TRACKING_RUN = "tracking.run"
"""Namespaced event: a worker records it once its tracker has begun. Its data is a `TrackedRun`."""
TRACKING_UPLOAD = "tracking.upload"
"""Namespaced event: what has become of a tracked run's upload, at every change. Its data is a `TrackedUpload`."""
