"""Links to the event files of selected runs: what TensorBoard is given to read."""

from pathlib import Path

from mosaic_workerkit.dashboard.selection import EventFileLinks


def links_in(view: Path) -> dict[str, Path]:
    """Every link below a folder, with the file that it leads to."""
    return {str(p.relative_to(view)): p.resolve() for p in view.rglob("*") if p.is_symlink()}


def test_event_files_are_linked_under_the_name_of_the_run(tmp_path: Path) -> None:
    """The run's own folder names are left out as far as they are common; a new file and a deleted one are followed."""
    run, view = tmp_path / "run" / "tensorboard", tmp_path / "view" / "name"
    source = tmp_path / "selected"
    source.symlink_to(run)  # as the scheduler makes it; the run has not begun
    links = EventFileLinks(source, view)
    links.refresh()
    assert links_in(view) == {}
    first = run / "CartPole" / "events.out.tfevents.1"
    first.parent.mkdir(parents=True)
    first.write_bytes(b"1")
    (first.parent / "notes.txt").write_text("no event file")
    links.refresh()
    assert links_in(view) == {first.name: first}
    second = first.parent / "1-eval" / "events.out.tfevents.2"
    second.parent.mkdir()
    second.write_bytes(b"2")
    links.refresh()
    assert links_in(view) == {first.name: first, f"1-eval/{second.name}": second}
    second.unlink()
    links.refresh()
    assert links_in(view) == {first.name: first}


def test_no_link_of_a_run_is_followed(tmp_path: Path) -> None:
    """Neither a file nor a folder that is a link, also where it takes the place of a file or of the whole folder."""
    run, view, outside = tmp_path / "run", tmp_path / "view", tmp_path / "outside"
    outside.mkdir()
    secret = outside / "secret.tfevents.1"
    secret.write_bytes(b"s")
    run.mkdir()
    file = run / "a.tfevents.1"
    file.write_bytes(b"1")
    (run / "b.tfevents.1").symlink_to(secret)
    (run / "folder").symlink_to(outside)
    (run / "dangling.tfevents.1").symlink_to(run / "nowhere")
    source = tmp_path / "selected"
    source.symlink_to(run)  # the scheduler's own
    links = EventFileLinks(source, view)
    links.refresh()
    assert links_in(view) == {file.name: file}
    file.unlink()
    file.symlink_to(secret)
    links.refresh()
    assert links_in(view) == {}
    file.unlink()
    file.write_bytes(b"1")
    links.refresh()
    assert links_in(view) == {file.name: file}
    run.rename(tmp_path / "away")
    run.symlink_to(outside)
    links.refresh()
    assert links_in(view) == {}
