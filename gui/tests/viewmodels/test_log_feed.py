from PyQt6.QtTest import QSignalSpy

from mosaic_gui.viewmodels.log_feed import LogFeed


def test_pieces_are_taken_once_and_in_order() -> None:
    """A piece that was read twice, or of a run that is no longer shown, changes nothing."""
    feed = LogFeed()
    feed.show_run("a")
    grown = QSignalSpy(feed.grown)
    feed.take("a", "one\ntw", 6)
    feed.take("a", "one\ntw", 6)
    feed.take("b", "other\n", 99)
    feed.take("a", "o\n", 8)
    assert [grown[n] for n in range(len(grown))] == [[["one"], "tw"], [["two"], ""]]


def test_another_run_starts_empty() -> None:
    """The text of one run never stands below that of another."""
    feed = LogFeed()
    feed.show_run("a")
    feed.take("a", "one\n", 4)
    reset = QSignalSpy(feed.reset)
    feed.show_run("b")
    assert len(reset) == 1
    assert feed.offset == 0
    assert feed.text.lines == []
