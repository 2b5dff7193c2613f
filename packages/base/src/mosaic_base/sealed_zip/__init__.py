"""Zip files whose last entry lists the SHA-256 of all others, written in one pass and checked before use.

They are ordinary zip64 files: any program opens them, and `sha256sum -c SHA256SUMS` checks what it unpacked.
"""

from mosaic_base.sealed_zip.names import SUMS, SealedZipInvalid, is_safe_name
from mosaic_base.sealed_zip.reader import SealedZip, ZipLimits
from mosaic_base.sealed_zip.writer import SealedZipWriter, ZipEntryWriter

__all__ = [
    "SUMS",
    "SealedZip",
    "SealedZipInvalid",
    "SealedZipWriter",
    "ZipEntryWriter",
    "ZipLimits",
    "is_safe_name",
]
