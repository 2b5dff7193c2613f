import shlex

from tests.specimen import report

from mosaic_contracts.spec import RunSpec
from mosaic_gui.state.dry_run import MOST_NOTE, noted, plan_sections, shell_lines


def test_a_plan_is_told_in_full() -> None:
    """Command, image, environment, mounts, GPU and network stand under their names; nothing of the plan is dropped."""
    sections = dict(plan_sections(report()))
    assert list(sections) == [
        "Command",
        "Script",
        "Image",
        "Environment",
        "Mounts",
        "GPU",
        "Network",
        "Limits",
        "Plan",
    ]
    assert sections["Environment"] == "OMP_NUM_THREADS=1"
    assert '"total_steps": 500' in sections["Plan"]


def test_a_command_can_be_pasted() -> None:
    """A shell reads back exactly the words, whatever is in them."""
    argv = ["python", "-m", "x", "--run dir", "a'b", "--plan=é $HOME", *["word"] * 30]
    assert shlex.split(shell_lines(argv).replace("\\\n", "")) == argv


def test_a_note_takes_what_fits() -> None:
    """The user's own words come first and whole; a plan that is too long is cut, and the spec is still valid."""
    long = report(plan={"argv": ["x"], "all": ["y" * 100] * 400})
    note = noted("mine", long)
    assert note.startswith("mine\n\nDry run")
    assert len(note) <= MOST_NOTE
    assert note.endswith("(cut)")
    spec = {"worker": "w", "algorithm": "a", "environment": "e", "note": note}
    assert RunSpec.model_validate(spec).note == note
