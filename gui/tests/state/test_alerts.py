"""What is new in runs, and what the title of the window says."""

from datetime import timedelta

from tests.specimen import BEGAN, run, run_id

from mosaic_contracts.alerts import RaisedAlert
from mosaic_contracts.runs import Progress, RunSummary
from mosaic_contracts.spec import RunKind
from mosaic_contracts.states import RunState
from mosaic_gui.state.alerts import DesktopKind, RunNews, rule_words, window_title
from mosaic_gui.state.run_details import details
from mosaic_gui.state.run_row import badge

ALERT = RaisedAlert(alert_id=4, rule="nan", message="a_loss is NaN at step 9", raised_at=BEGAN)


def test_what_a_run_has_when_it_is_first_seen_is_not_new() -> None:
    """A client that starts does not notify of the runs of last week."""
    news = RunNews()
    assert news.take([run(1, RunState.SUCCEEDED), run(2, RunState.RUNNING, alerts=[ALERT])]) == []
    assert news.take([run(2, RunState.RUNNING, alerts=[ALERT])]) == []


def test_an_end_comes_once_with_the_last_return() -> None:
    """The text has state and last return."""
    news, summary = RunNews(), RunSummary(run_id=run_id(1), last_return=475.0)
    news.take([run(1, RunState.RUNNING)])
    ended = run(1, RunState.SUCCEEDED, summary=summary)
    (notice,) = news.take([ended])
    assert (notice.kind, notice.run_id, notice.is_bad) == (DesktopKind.END, run_id(1), False)
    assert "Succeeded · last return 475" in notice.text
    assert news.take([ended]) == []


def test_an_alert_comes_once() -> None:
    """Another record of the run with the same alert is no news; another alert is."""
    news = RunNews()
    news.take([run(1, RunState.RUNNING)])
    (notice,) = news.take([run(1, RunState.RUNNING, alerts=[ALERT])])
    assert notice.text == "nan: a_loss is NaN at step 9"
    assert notice.is_bad
    assert news.take([run(1, RunState.RUNNING, alerts=[ALERT])]) == []
    later = ALERT.model_copy(
        update={"alert_id": 5, "raised_at": ALERT.raised_at + timedelta(seconds=9)}
    )
    assert len(news.take([run(1, RunState.RUNNING, alerts=[ALERT, later])])) == 1


def test_replays_and_trials_end_silently() -> None:
    """Nobody waits for them."""
    news = RunNews()
    spec = run(1).spec.model_copy(update={"kind": RunKind.REPLAY})
    silent = [run(1, RunState.RUNNING, spec=spec), run(2, RunState.RUNNING, trial="1/a/1")]
    news.take(silent)
    ended = [one.model_copy(update={"state": RunState.SUCCEEDED}) for one in silent]
    assert news.take(ended) == []


def test_the_title_begins_with_the_progress() -> None:
    """A task bar cuts the end of a title."""
    assert window_title(None) == "MOSAIC"
    progress = Progress(step=42, total=100)
    assert window_title(run(1, RunState.RUNNING, progress=progress)).startswith("42% · ")
    assert window_title(run(1, RunState.SUCCEEDED)).startswith("Succeeded · ")


def test_a_rule_is_explained_while_it_is_typed() -> None:
    """A wrong one cannot be added, and the words say why."""
    assert rule_words("nan") == ("A value of a loss is NaN", True)
    assert rule_words("  ") == ("", False)
    words, is_valid = rule_words("loss<3")
    assert "m.loss" in words
    assert not is_valid


def test_a_run_with_an_alert_is_seen_in_the_list() -> None:
    """The badge says so while it lives; its details have rule and message also afterwards."""
    assert badge(run(1, RunState.RUNNING, alerts=[ALERT])) == ("Alert", "warn")
    assert badge(run(1, RunState.SUCCEEDED, alerts=[ALERT]))[0] == "Succeeded"
    rows = dict(details(run(1, RunState.SUCCEEDED, alerts=[ALERT]), {}))
    assert rows["Alerts"] == "nan: a_loss is NaN at step 9"
