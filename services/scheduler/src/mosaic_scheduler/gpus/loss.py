"""A device that vanished under a run: what the run says of it for good. Pure."""

from mosaic_contracts.runs import RunRecord

_LOST = "the driver lost its "
_OUTLOOK = "; the run may hang or fail"


def new_notes(record: RunRecord, losses: list[str]) -> list[str]:
    """Notes of losses (`LeaseLedger.losses`) that the run does not have yet."""
    told = [f"{_LOST}{loss}{_OUTLOOK}" for loss in losses]
    return [note for note in told if note not in record.notes]


def in_words(record: RunRecord) -> str:
    """What the end of a run that failed says of it; empty when it lost none."""
    lost = [note.removesuffix(_OUTLOOK) for note in record.notes if note.startswith(_LOST)]
    return "".join(f" Before that {note}." for note in lost)
