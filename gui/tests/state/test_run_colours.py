"""One colour for each run, wherever its curves are shown."""

from hypothesis import given
from hypothesis import strategies as st

from mosaic_gui.state.run_colours import COLOURS, RunColours
from mosaic_gui.theme.tokens import DARK, LIGHT


def test_themes_have_so_many_colours() -> None:
    """The number that is counted with is that of both themes."""
    assert len(DARK.series) == len(LIGHT.series) == COLOURS


def test_a_run_keeps_its_colour_with_other_runs() -> None:
    """Whatever it is shown with, in whatever order, and after it was shown alone."""
    colours = RunColours()
    first = colours.of(["a", "b", "c"])
    assert first == {"a": 0, "b": 1, "c": 2}
    assert colours.of(["c", "a"]) == {"c": 2, "a": 0}
    assert colours.of(["d"]) == {"d": 3}
    assert colours.of(["d", "c", "b", "a"]) == {"d": 3, **first}


def test_two_runs_of_one_colour_are_told_apart() -> None:
    """The second takes a free colour and keeps it; a ninth curve is dashed."""
    colours = RunColours()
    for n in range(COLOURS + 1):
        colours.of([f"run {n}"])
    last = f"run {COLOURS}"
    assert colours.of([last]) == {last: 0}
    both = colours.of(["run 0", last])
    assert both == {"run 0": 0, last: 1}
    assert colours.of([last]) == {last: 1}
    nine = colours.of([f"curve {n}" for n in range(COLOURS + 1)])
    assert sorted(nine.values()) == [*list(range(COLOURS)), max(nine.values())]
    assert max(nine.values()) >= COLOURS


@given(st.lists(st.lists(st.sampled_from("abcdefghijklmnopqrstuvwxyz"), unique=True), max_size=8))
def test_colours_and_dashes_in_sight_differ(pages: list[list[str]]) -> None:
    """No two curves of a page look alike, and the same page looks the same again."""
    colours = RunColours()
    for page in pages:
        found = colours.of(page)
        assert list(found) == page
        assert len(set(found.values())) == len(page)
        assert colours.of(page) == found
