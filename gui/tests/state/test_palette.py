"""The search of the palette: what is found, in which order, and in which steps."""

from collections.abc import Iterator

from mosaic_gui.state.palette import (
    MOST_RECENT,
    MOST_RESULTS,
    EntryKind,
    PaletteEntry,
    PaletteSearch,
    remembered,
)

COMMANDS = [
    PaletteEntry(EntryKind.COMMAND, name, name, keys=keys)
    for name, keys in (("Runs", "Ctrl+1"), ("Train new", "Ctrl+N"), ("Storage", "Ctrl+8"))
]
OTHERS = [
    PaletteEntry(EntryKind.RUN, "01A", "CartPole-v1", "ppo lr=0.001 seed 1"),
    PaletteEntry(EntryKind.HELP, "storage.md", "Storage", "storage.md"),
]


def titles(search: PaletteSearch, query: str) -> list[str]:
    """What is found in the end."""
    search.start(query)
    while not search.is_done:
        search.work()
    return [f"{r.entry.kind.value} {r.entry.title}" for r in search.results()]


def test_without_words_the_last_choices_come_first_then_commands() -> None:
    """Nothing is listed twice, and a choice that is gone is left out."""
    search = PaletteSearch(iter([*COMMANDS, *OTHERS]), ["run:01A", "command:Storage", "run:gone"])
    assert titles(search, "") == [
        "run CartPole-v1",
        "command Storage",
        "command Runs",
        "command Train new",
    ]
    assert [r.is_recent for r in search.results()] == [True, True, False, False]


def test_words_find_every_kind() -> None:
    """By title, by other words and by keys; commands before others of the same score."""
    search = PaletteSearch(iter([*COMMANDS, *OTHERS]))
    assert titles(search, "stor") == ["command Storage", "help Storage"]
    assert titles(search, "lr=0.001") == ["run CartPole-v1"]
    assert titles(search, "ctrl+n") == ["command Train new"]
    assert titles(search, "nothing like it") == []


def test_what_was_chosen_last_is_found_first() -> None:
    """A recent help page passes a command of the same name."""
    search = PaletteSearch(iter([*COMMANDS, *OTHERS]), ["help:storage.md"])
    assert titles(search, "stor") == ["help Storage", "command Storage"]


def test_ten_thousand_runs_are_matched_in_steps() -> None:
    """One step does not read all of them; the best come out in the end, as many as are shown."""

    def runs() -> Iterator[PaletteEntry]:
        for n in range(10_000):
            yield PaletteEntry(EntryKind.RUN, f"{n:05}", f"run {n:05}", "ppo CartPole-v1")

    search = PaletteSearch(runs())
    search.start("09999")
    search.work(0.0)
    assert not search.is_done
    search.work(1e-9)
    assert len(search._entries) < 10_000
    assert titles(search, "09999") == ["run run 09999"]
    assert len(titles(search, "cartpole")) == MOST_RESULTS


def test_more_letters_search_what_fewer_have_left() -> None:
    """The results are those of a search of everything; fewer letters find the others again."""
    entries = [
        PaletteEntry(EntryKind.RUN, str(n), f"run {n} of CartPole-v1", f"lr={n % 7}")
        for n in range(300)
    ]
    search = PaletteSearch(iter(entries))
    for query in ("r", "ru", "run 1", "run 12", "run 12 lr=3", "run", "", "cart"):
        alone = PaletteSearch(iter(entries))
        assert titles(search, query) == titles(alone, query)


def test_a_choice_is_remembered_once() -> None:
    """The newest first, and not for ever."""
    recent: list[str] = []
    for n in [*range(MOST_RECENT + 5), 3]:
        recent = remembered(recent, f"run:{n}")
    assert recent[:2] == ["run:3", f"run:{MOST_RECENT + 4}"]
    assert len(recent) == len(set(recent)) == MOST_RECENT
