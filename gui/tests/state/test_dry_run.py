import shlex

from tests.specimen import report

from mosaic_contracts.changes import RunPatch
from mosaic_gui.state.dry_run import MOST_KEPT, kept_text, plan_sections, shell_lines


def test_a_plan_is_shown_in_full() -> None:
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


def test_plan_that_is_too_long_is_cut() -> None:
    """What is kept with a run begins with the command, and the stack takes it."""
    long = report(plan={"argv": ["x"], "all": ["y" * 100] * 400})
    text = kept_text(long)
    assert text.startswith("# Command\n")
    assert len(text) <= MOST_KEPT
    assert text.endswith("(cut)")
    assert RunPatch(dry_run=text).dry_run == text
