"""Stored batches as an export reads them: undecoded, so that the stack's share of an export is small."""

from typing import Any

import msgspec


class BatchPage(msgspec.Struct):
    """One page of a run's stored batches, sent as MessagePack.

    Attributes:
        spaces: for each attempt, the action and observation spaces of its config event.
        frames: zstd frames of wire batches (`mosaic_contracts.wire.Batch`), each source's in order of seq, sources
            merged by the time of their first records. A frame may hold records that do not belong to the page: at or
            before the cursor that was asked for, behind `cursor`, or of types that were not asked for. Seqs may be
            missing in it where steps were thinned: decode it with `decode_batch(..., thinned=True)`.
        cursor: pass it back to go on from here.
        has_more: whether more is stored behind `cursor`.
    """

    spaces: dict[int, dict[str, Any]]
    frames: list[bytes]
    cursor: str
    has_more: bool


encode_page = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(BatchPage).decode


def decode_page(body: bytes) -> BatchPage:
    """Decode a page of stored batches.

    Args:
        body: the answer's body, msgpack.

    Returns:
        The page.

    Raises:
        ValueError: not a page of this version.
    """
    try:
        return _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ValueError(str(error)) from error
