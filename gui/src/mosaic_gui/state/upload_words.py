"""State of a tracked run's upload in words."""

from mosaic_contracts.runs import RunView
from mosaic_contracts.tracking import TrackedRun, TrackedUpload, UploadState
from mosaic_gui.state.language import mark, tr_mark

_WORDS = {
    UploadState.OFFLINE: mark("Offline"),
    UploadState.UPLOADING: mark("Uploading"),
    UploadState.RETRYING: mark("Retrying"),
    UploadState.UPLOADED: mark("Uploaded"),
    UploadState.INCOMPLETE: mark("Incomplete"),
}
_TONES = {
    UploadState.OFFLINE: "neutral",
    UploadState.UPLOADING: "accent",
    UploadState.RETRYING: "warn",
    UploadState.UPLOADED: "ok",
    UploadState.INCOMPLETE: "bad",
}
"""Colour of a state, as a token's name."""
_GOING_ON = (UploadState.UPLOADING, UploadState.RETRYING)


def upload_state(
    run: RunView, reported: TrackedRun, upload: TrackedUpload | None
) -> UploadState | None:
    """The state of a run's upload; None: the run did not report it.

    A run that ended before it reported the end of its upload has sent a part at most.
    """
    if upload is None:
        return UploadState.OFFLINE if reported.mode == "offline" else None
    if upload.state in _GOING_ON and run.state.is_final:
        return UploadState.INCOMPLETE
    return upload.state


def upload_badge(state: UploadState) -> tuple[str, str]:
    """Word and tone of an upload's state."""
    return tr_mark(_WORDS[state]), _TONES[state]
