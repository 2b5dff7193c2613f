from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from tests.specimen import run, run_id

from mosaic_contracts.runs import ArtifactRow
from mosaic_gui.state.run_files import free_place, local_name


@given(name=st.text(min_size=1, max_size=120), path=st.text(min_size=1, max_size=400))
def test_a_name_fits_every_folder(name: str, path: str) -> None:
    """Whatever a run or its file is called: no folder in it, not hidden, and short enough with what a part adds."""
    made = local_name(run(0, name=name), ArtifactRow(path=path, kind="file", bytes=1))
    assert "/" not in made
    assert not made.startswith(".")
    assert made.isascii()
    assert len(made) < 200


def test_a_run_without_a_usable_name_gives_its_id() -> None:
    """So that two such runs do not look like one."""
    file = ArtifactRow(path="checkpoints/a.pt", kind="checkpoint", bytes=1)
    assert local_name(run(0, name="..."), file) == f"{run_id(0)}-a.pt"


def test_nothing_that_is_there_is_overwritten(tmp_path: Path) -> None:
    """A number distinguishes a second file from the first, also while that is still on its way."""
    (tmp_path / "a.pt").touch()
    assert free_place(tmp_path, "a.pt", {tmp_path / "a (2).pt"}) == tmp_path / "a (3).pt"
