"""Files on their way to a stack."""

import os
from pathlib import Path

from mosaic_client.upload import UploadedFile


def test_a_name_that_is_no_text_is_sent_as_one(tmp_path: Path) -> None:
    """Bytes that are no UTF-8, and control characters, which a stack refuses."""
    for name in (b"a\xff.pt", b"a\n.pt"):
        path = tmp_path / os.fsdecode(name)
        path.write_bytes(b"1")
        with UploadedFile(path) as upload:
            assert upload.name == "a_.pt"
