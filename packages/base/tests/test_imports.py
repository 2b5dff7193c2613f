import gc

from mosaic_base.imports import large_imports


def test_no_garbage_is_collected_while_packages_are_imported() -> None:
    """Afterwards it is again, and what was imported is not looked at any more."""
    before = gc.get_freeze_count()
    with large_imports():
        assert not gc.isenabled()
    assert gc.isenabled()
    assert gc.get_freeze_count() > before
    gc.unfreeze()
