"""Which event files of a run a dashboard shows."""

from pathlib import Path

from mosaic_workerkit.dashboard.selection import EventFileLinks


def test_no_link_that_a_run_made_is_followed(tmp_path: Path) -> None:
    """Neither below its folder of event files, nor in the place of that folder, also while it is shown."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "tfevents.secret").write_bytes(b"s")
    files = tmp_path / "run" / "tensorboard"
    (files / "ppo").mkdir(parents=True)
    (files / "ppo" / "tfevents.own").write_bytes(b"o")
    (files / "ppo" / "tfevents.link").symlink_to(outside / "tfevents.secret")
    (files / "folder").symlink_to(outside)
    selected = tmp_path / "selected"
    selected.symlink_to(files)  # the scheduler's own
    shown = tmp_path / "shown"
    links = EventFileLinks(selected, shown)
    assert links.refresh()
    assert [path.name for path in shown.iterdir()] == ["tfevents.own"]
    files.rename(tmp_path / "run" / "away")
    files.symlink_to(outside)
    assert not links.refresh()
    assert not any(shown.iterdir())
