"""Sizes of memory and disks in words: GiB where they are large."""

_KIB, _MIB, _GIB = 2**10, 2**20, 2**30


def size_text(size_bytes: int) -> str:
    """`640 KiB`, `300 MiB`, `23.5 GiB`, `1,024 GiB`; never more than there is."""
    if size_bytes < _KIB:
        return f"{size_bytes} B"
    if size_bytes < _MIB:
        return f"{size_bytes // _KIB} KiB"
    if size_bytes < _GIB:
        return f"{size_bytes // _MIB} MiB"
    tenths = size_bytes * 10 // _GIB
    if tenths >= 1_000 or tenths % 10 == 0:
        return f"{tenths // 10:,} GiB"
    return f"{tenths / 10:.1f} GiB"


def mib_text(size_mib: int) -> str:
    """The same of a number of MiB, as specs have it."""
    return size_text(size_mib * _MIB)
