"""Names of files that clients write."""

from mosaic_contracts.file_names import checkpoint_zip_name


def test_the_name_of_an_export_fits_every_system() -> None:
    """What Windows or a URL does not take becomes `-`; a name of nothing else gives way to the run's id."""
    assert checkpoint_zip_name("ppo: é/1", "01K8", "checkpoints/best.pt") == "ppo-1-best.zip"
    assert checkpoint_zip_name("\u65e5", "01K8", "last") == "01K8-last.zip"
    assert len(checkpoint_zip_name("a" * 200, "01K8", "last")) < 100
