import pytest
from tests.specimen import run

from mosaic_contracts.runs import RunEnd
from mosaic_contracts.states import EndCause, RunState, StopStep
from mosaic_gui.state.failure_summary import FailureSummary, failure_summary


def card(cause: EndCause, state: RunState = RunState.FAILED, **fields: object) -> FailureSummary:
    """The card of a run that ended so."""
    spec = fields.pop("spec", {})
    end = RunEnd.model_validate({"cause": cause, "message": "It ended."} | fields)
    made = failure_summary(run(0, state, end=end, spec=spec))
    assert made is not None
    return made


@pytest.mark.parametrize("state", [RunState.RUNNING, RunState.QUEUED, RunState.SUCCEEDED])
def test_what_goes_on_or_succeeded_has_none(state: RunState) -> None:
    """The card is for ends that need a word."""
    assert failure_summary(run(0, state)) is None


@pytest.mark.parametrize("cause", list(EndCause))
def test_every_cause_has_a_title_and_advice(cause: EndCause) -> None:
    """Whatever the cause, the card says in words what happened and what to try."""
    made = card(cause)
    assert made.title
    assert cause.value not in made.title
    assert made.advice


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("RuntimeError: Found no NVIDIA driver on your system", "CPU"),
        ("torch.cuda.OutOfMemoryError: CUDA out of memory", "smaller batch"),
        ("ModuleNotFoundError: No module named 'mujoco'", "./mosaic sync"),
        (
            "ValueError: Expected parameter logits to satisfy Real, found invalid values: nan",
            "learning rate",
        ),
        ("OSError: [Errno 28] No space left on device", "disk is full"),
    ],
)
def test_known_faults_are_recognised(line: str, word: str) -> None:
    """The last lines tell what is known to go wrong, and the advice fits it."""
    assert word in " ".join(card(EndCause.EXIT_CODE, last_lines=["x", line]).advice)


def test_facts_are_exact() -> None:
    """Exit code and signal are shown as they were."""
    facts = dict(card(EndCause.SIGNAL, RunState.CRASHED, signal=9, exit_code=None).facts)
    assert facts["Signal"] == "SIGKILL (9)"
    assert "Exit code" not in facts


def test_a_known_fix_is_a_button() -> None:
    """No CUDA: the same run on the CPU; time over: the same with more time."""
    gpu = card(EndCause.EXIT_CODE, last_lines=["no CUDA-capable device"], spec={"gpus": 1})
    assert gpu.fixes[0].overrides == {"gpus": 0}
    late = card(EndCause.WALL_TIME, RunState.TIMED_OUT, spec={"wall_time_s": 60})
    assert late.fixes[0].overrides == {"wall_time_s": 120}


def test_an_interrupted_run_can_be_resumed() -> None:
    """A shutdown is no alarm; with a checkpoint the first button goes on from it, without one there is none."""
    end = RunEnd(cause=EndCause.INTERRUPTED, message="It was stopped.")
    saved = {"run_id": "x", "checkpoints": 1}
    with_checkpoint = failure_summary(run(0, RunState.INTERRUPTED, end=end, summary=saved))
    without = failure_summary(
        run(0, RunState.INTERRUPTED, end=end, summary=saved | {"checkpoints": 0})
    )
    assert with_checkpoint is not None
    assert without is not None
    assert (with_checkpoint.tone, with_checkpoint.fixes[0].resumes) == ("neutral", True)
    assert without.fixes == []


def test_a_stop_by_the_user_is_no_alarm() -> None:
    """An end that the user asked for is shown quietly."""
    assert card(EndCause.STOPPED_BY_USER, RunState.CANCELLED).tone == "neutral"


@pytest.mark.parametrize(
    ("step", "word"),
    [(StopStep.ASKED, "by itself"), (StopStep.TERMINATED, "SIGTERM"), (StopStep.KILLED, "SIGKILL")],
)
def test_a_stop_says_which_step_ended_the_run(step: StopStep, word: str) -> None:
    """Whether it was enough to ask, or the signal or the kill had to end it; other ends say nothing of it."""
    made = card(EndCause.STOPPED_BY_USER, RunState.CANCELLED, stop_step=step)
    assert word in dict(made.facts)["Stopped by"]
    assert "Stopped by" not in dict(card(EndCause.EXIT_CODE).facts)


REAL = {
    "no cuda": "AssertionError: Torch not compiled with CUDA enabled",
    "memory": "numpy.core._exceptions._ArrayMemoryError: Unable to allocate 29.1 TiB for an array with shape (4,)",
    "gone": "python3: can't open file '/a/workers.d/b/gone.py': [Errno 2] No such file or directory",
    "rate": "ValueError: Invalid learning rate: -1.0",
    "argument": "-c: error: argument --gamma: invalid int value: 'x0.9'",
    "nan": "ValueError: Expected parameter logits (...) to satisfy Real, but found invalid values: tensor([[nan",
}
"""Last lines of real runs that were made to fail: torch and numpy of the CleanRL worker, Python and argparse."""


@pytest.mark.parametrize(
    ("end", "arguments", "label", "overrides", "where"),
    [
        ("no cuda", {"cuda": True}, "on the CPU", {"parameters": {"cuda": False}}, ""),
        ("no cuda", {"device": "cuda"}, "on the CPU", {"parameters": {"device": "cpu"}}, ""),
        ("memory", {"buffer_size": 4000}, "1,000", {"parameters": {"buffer_size": 1000}}, ""),
        ("rate", {"learning_rate": -1, "rate": 1}, "Change learning_rate", {}, "learning_rate"),
        ("argument", {"gamma": 0.9, "g": 1}, "Change gamma", {}, "gamma"),
        ("nan", {"learning_rate": 0.5}, "0.05", {"parameters": {"learning_rate": 0.05}}, ""),
    ],
)
def test_what_really_failed_has_its_button(
    end: str, arguments: dict[str, object], label: str, overrides: dict[str, object], where: str
) -> None:
    """The argument at fault is changed in the new run, or the form is opened where it is."""
    reported = RunEnd(cause=EndCause.EXIT_CODE, message="Exit code 1.", last_lines=["x", REAL[end]])
    made = failure_summary(run(0, RunState.FAILED, end=reported), arguments)
    assert made is not None
    fix = made.fixes[0]
    assert label in fix.label
    assert fix.overrides == overrides
    assert fix.where == (f"parameters.{where}" if where else "")


def test_a_missing_script_is_named() -> None:
    """The advice says which file is not there; the form opens at the script where there is such an argument."""
    made = card(EndCause.EXIT_CODE, last_lines=[REAL["gone"]], spec={"parameters": {"script": "a"}})
    assert "/a/workers.d/b/gone.py is not there" in made.advice[0]
    assert [fix.where for fix in made.fixes] == ["parameters.script"]
    assert card(EndCause.EXIT_CODE, last_lines=[REAL["gone"]]).fixes == []


def test_out_of_memory_gets_more_of_it() -> None:
    """Where a limit was set it is doubled; a large buffer may be made smaller instead."""
    made = card(
        EndCause.OUT_OF_MEMORY,
        RunState.CRASHED,
        spec={"memory_mb": 512, "parameters": {"buffer_size": 1000}},
    )
    assert [fix.overrides for fix in made.fixes] == [
        {"memory_mb": 1024},
        {"parameters": {"buffer_size": 250}},
    ]


def test_ordinary_last_lines_name_no_argument() -> None:
    """A killed run whose last line happens to hold an argument's word is not said to have a wrong value."""
    lines = ["global_step=40, learning_rate=0.1, invalid=0"]
    assert card(EndCause.SIGNAL, RunState.CRASHED, signal=9, last_lines=lines).fixes == []


def test_a_tensor_in_a_message_is_cut() -> None:
    """The card stays a card."""
    assert len(card(EndCause.EXIT_CODE, message="nan, " * 5000).message) < 400


@pytest.mark.parametrize(
    ("number", "name", "advice"),
    [(9, "SIGKILL (9)", "outside MOSAIC"), (11, "SIGSEGV (11)", "compiled code")],
)
def test_a_kill_says_who_may_have_done_it(number: int, name: str, advice: str) -> None:
    """A signal leaves no last words: the card says where they usually come from."""
    made = card(EndCause.SIGNAL, RunState.CRASHED, signal=number, exit_code=None)
    assert dict(made.facts)["Signal"] == name
    assert advice in made.advice[0]
