"""One page of runs as one message."""

from mosaic_contracts.runs import RunRecord

PAGE_BYTES = 4 * 2**20
"""A page must fit one message of the broker (8 MiB), and a single spec may take 1 MiB."""


def first_that_fit(records: list[RunRecord]) -> list[RunRecord]:
    """The first of `records` that together take at most PAGE_BYTES as JSON; never none of some."""
    room = PAGE_BYTES
    for place, record in enumerate(records):
        room -= len(record.model_dump_json().encode())
        if room < 0 and place > 0:
            return records[:place]
    return records
