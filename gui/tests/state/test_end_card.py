import pytest
from tests.specimen import run

from mosaic_contracts.runs import RunEnd
from mosaic_contracts.states import EndCause, RunState, StopStep
from mosaic_gui.state.end_card import EndCard, end_card


def card(cause: EndCause, state: RunState = RunState.FAILED, **fields: object) -> EndCard:
    """The card of a run that ended so."""
    spec = fields.pop("spec", {})
    end = RunEnd.model_validate({"cause": cause, "message": "It ended."} | fields)
    made = end_card(run(0, state, end=end, spec=spec))
    assert made is not None
    return made


@pytest.mark.parametrize("state", [RunState.RUNNING, RunState.QUEUED, RunState.SUCCEEDED])
def test_what_goes_on_or_succeeded_has_none(state: RunState) -> None:
    """The card is for ends that need a word."""
    assert end_card(run(0, state)) is None


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
    """Exit code and signal are told as they were."""
    facts = dict(card(EndCause.SIGNAL, RunState.CRASHED, signal=9, exit_code=None).facts)
    assert facts["Signal"] == "SIGKILL (9)"
    assert "Exit code" not in facts


def test_a_known_fix_is_a_button() -> None:
    """No CUDA: the same run on the CPU; time over: the same with more time."""
    gpu = card(EndCause.EXIT_CODE, last_lines=["no CUDA-capable device"], spec={"gpus": 1})
    assert gpu.fixes[0].overrides == {"gpus": 0}
    late = card(EndCause.WALL_TIME, RunState.TIMED_OUT, spec={"wall_time_s": 60})
    assert late.fixes[0].overrides == {"wall_time_s": 120}


def test_a_stop_by_the_user_is_no_alarm() -> None:
    """What was asked for is told quietly."""
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
