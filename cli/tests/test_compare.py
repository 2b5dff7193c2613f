"""`compare` against a stand-in stack and a stand-in analysis; tests/e2e has it on a real stack."""

import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.gateway_double import OF_RUN, RUN, RUN_ID, Answers, Mosaic

from mosaic_cli.comparing.plan import comparison_of
from mosaic_cli.errors import ValueRefused
from mosaic_client.comparing.errors import ComparisonRefused
from mosaic_client.comparing.returns import ActorRecord, environment_notes, pairing_notes, recorded
from mosaic_contracts.comparison_words import estimate_text
from mosaic_contracts.comparisons import ActorReturns, Estimate

OTHER = RUN_ID[:-1] + "W"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "actors: [last, random]\nepisode: 3",
            "episode: there is no such field. Did you mean episodes?",
        ),
        (
            "actors: [{nme: a, run: last}, random]",
            "actors.0.nme: there is no such field. Did you mean name?",
        ),
        ("actors: [{run: last, random: true}, random]", "give either `run` or `random: true`"),
        ("actors: [last@, random]", "'last@' is no actor: write a run, RUN@CHECKPOINT, or random"),
        ("actors: [random]", "must have at least 2 entries"),
        ("actors: [last, random]\nscore_range: {low: 3, high: 2}", "high must be above low"),
    ],
)
def test_a_wrong_file_is_refused_in_words(tmp_path: Path, text: str, says: str) -> None:
    """Each fault with its place, an unknown key with the nearest one."""
    file = tmp_path / "compare.yaml"
    file.write_text(text)
    with pytest.raises(ValueRefused) as caught:
        comparison_of([str(file)], {})
    assert says in str(caught.value)


def test_options_win_over_the_file(tmp_path: Path) -> None:
    """What was not given is the file's, then the default."""
    file = tmp_path / "compare.yaml"
    file.write_text("actors: [last@best, {run: last, name: a}]\nepisodes: 50")
    plan = comparison_of([str(file)], {"seed": 7})
    assert (plan.episodes, plan.seed, plan.actors[0].checkpoint) == (50, 7, "best")
    assert comparison_of([str(file)], {"episodes": 3}).episodes == 3


@pytest.mark.parametrize(
    ("actors", "says"),
    [
        (["last"], "two to 6 actors, not 1"),
        (["last", OTHER], f"one environment of one version: {RUN_ID} in CartPole-v1, {OTHER} in Acrobot-v1"),
        (["last", "last"], "Two actors are the same"),
        (["last@nothing", "random"], "has no checkpoint 'nothing'"),
    ],
)  # fmt: skip
def test_actors_that_cannot_be_compared(
    mosaic: Mosaic, answers: Answers, actors: Sequence[str], says: str
) -> None:
    """Nothing is started, and the message names both."""
    acrobot = {"worker": "cleanrl", "algorithm": "dqn", "environment": "Acrobot-v1"}
    answers[f"/api/v1/runs/{OTHER}"] = RUN | {"run_id": OTHER, "spec": acrobot}
    for run_id in (RUN_ID, OTHER):
        row = {
            "path": "checkpoints/final.pt",
            "kind": "checkpoint",
            "bytes": 9,
            "sha256": "ab",
            "step": 9,
        }
        answers[f"/api/v1/runs/{run_id}/artifacts"] = [row]
    of_run = {
        "run_id": RUN_ID,
        "run_name": "a run",
        "kind": "train",
        "worker": "cleanrl",
        "algorithm": "ppo",
    }
    entry = {
        **of_run,
        "environment": "CartPole-v1",
        "path": "checkpoints/final.pt",
        "bytes": 9,
        "step": 9,
    }
    answers["/api/v1/checkpoints"] = {"checkpoints": [entry]}
    code, out, err = mosaic("compare", *actors)
    assert code in (2, 4)
    assert (out, says in err) == ("", True)
    assert all(asked.method == "GET" for asked in answers.asked)


def start(seed: int | None, episode: int, digest: str) -> dict[str, Any]:
    """An event of a reset."""
    reset = (
        {"way": "seed", "seed": seed} if seed is not None else {"way": "generator", "state": "{}"}
    )
    envelope = {
        "v": 1,
        "run_id": RUN_ID,
        "attempt": 1,
        "source": "worker",
        "seq": episode + 2,
        "t": 1.0,
    }
    return {
        **envelope,
        "type": "episode_start",
        "env": 0,
        "episode": episode,
        "reset": reset,
        "hash": digest,
    }


def test_recorded_episodes_are_paired_by_their_seeds(
    mosaic: Mosaic, answers: Answers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two of a person's five episodes count: one has no seed, one repeats one, one did not end."""
    spec = {"worker": "play", "algorithm": "human", "environment": "CartPole-v1", "kind": "play"}
    answers[OF_RUN] = RUN | {"spec": spec}
    seeds = [2, None, 4, 2, 3]
    rows = [
        {"attempt": 1, "env": 0, "episode": number, "length": 9 if number != 4 else None, "return": 10.0 * number}
        for number in range(5)
    ]  # fmt: skip
    answers[f"{OF_RUN}/episodes"] = {"episodes": rows}
    starts = [start(seed, number, f"h{seed}") for number, seed in enumerate(seeds)]
    answers[f"{OF_RUN}/events"] = {"events": starts, "cursor": "x", "has_more": False}
    answers[f"{OF_RUN}/artifacts"] = []
    from mosaic_cli.target import open_client
    from mosaic_client.comparing.actors import find_actors

    plan = comparison_of([RUN_ID, "random"], {"episodes": 4})
    with open_client() as client:
        (person, chance) = find_actors(client, plan)
        acted = recorded(client, person, plan)
    assert (person.name, chance.name) == ("human", "random")
    assert (acted.returns.seeds, acted.returns.returns) == ([2, 4], [0.0, 20.0])
    assert acted.notes == [
        "human: 2 of 4 complete episodes have one of the 4 seeds; missing: 1, 3."
    ]


def test_equal_seeds_pair_only_equal_beginnings() -> None:
    """An actor whose world begins otherwise loses its seeds, and it is said; so are arguments and versions."""
    packages = {"gymnasium": "1.0.0"}
    first = ActorRecord(
        ActorReturns(name="a", returns=[1, 2], seeds=[1, 2]),
        {1: "x", 2: "y"},
        {"packages": packages},
    )
    same = ActorRecord(
        ActorReturns(name="b", returns=[1, 2], seeds=[1, 2]), {2: "y"}, {"packages": packages}
    )
    other = ActorRecord(
        ActorReturns(name="c", returns=[1, 2], seeds=[1, 2]),
        {1: "x", 2: "z"},
        {"packages": {"gymnasium": "0.29.1"}, "environment_arguments": {"is_slippery": False}},
    )
    (note,) = pairing_notes([first, same, other])
    assert "c: with seed 2 its first observation is another one than that of a" in note
    assert (same.returns.seeds, other.returns.seeds) == ([1, 2], [])
    arguments, versions = environment_notes([first, same, other])
    assert 'a, b: {}; c: {"is_slippery":false}' in arguments
    assert versions == "Versions of gymnasium: 1.0.0 (a, b); 0.29.1 (c)."


def test_how_an_estimate_reads() -> None:
    """Two digits of the width of its interval; a dash for what is not there."""
    assert estimate_text(Estimate(value=140.96, low=111.2, high=177.4)) == "141 [111, 177]"
    assert estimate_text(Estimate(value=0.956, low=0.942, high=0.97)) == "0.956 [0.942, 0.970]"
    assert estimate_text(Estimate(value=5.5)) == "5.5"
    assert estimate_text(Estimate(value=5.0)) == "5"
    assert estimate_text(None) == "–"


def test_trainings_are_grouped_by_what_differs(answers: Answers, mosaic: Mosaic) -> None:
    """Runs with other parameters are a group of their own; a resumed run counts its steps on from its checkpoint."""
    resumed = {"state": "succeeded", "attempt": 2, "resumptions": [{"attempt": 2, "step": 100}]}
    spec = RUN["spec"]
    answers[OF_RUN] = RUN | resumed | {"spec": spec | {"seed": 1}}
    answers[f"/api/v1/runs/{OTHER}"] = RUN | {
        "run_id": OTHER,
        "spec": spec | {"parameters": {"gamma": 0.9}},
    }
    rows = [
        {
            "attempt": attempt,
            "env": 0,
            "episode": 0,
            "length": 9,
            "return": value,
            "global_step": step,
        }
        for attempt, step, value in ((1, 90, 1.0), (1, 120, 2.0), (2, 30, 3.0))
    ]
    answers[f"{OF_RUN}/episodes"] = {"episodes": rows}
    answers[f"/api/v1/runs/{OTHER}/episodes"] = {"episodes": rows[:1]}
    answers["/api/v1/runs"] = {"runs": []}
    from mosaic_cli.target import open_client
    from mosaic_client.comparing.trainings import find_trainings, training_document

    with open_client() as client:
        runs = find_trainings(client, [RUN_ID, OTHER], [])
        document = training_document(client, runs, {"": 3.0}, {})
        with pytest.raises(ComparisonRefused, match="There is CartPole-v1"):
            training_document(client, runs, {"Acrobot-v1": 3.0}, {})
    first, second = document.groups
    assert (first.name, second.name) == ("ppo gamma=default", "ppo gamma=0.9")
    assert (first.runs[0].steps, first.runs[0].returns) == ([90, 130], [1.0, 3.0])
    assert document.thresholds == {"CartPole-v1": 3.0}
    assert mosaic("compare", "--training", RUN_ID, "-n", "3")[0] == 2
    assert mosaic("compare", RUN_ID, "random", "--threshold", "3")[0] == 2
    assert mosaic("compare", "--training", RUN_ID, "--threshold", "nan")[0] == 2


def test_where_two_runs_begin_to_differ() -> None:
    """The first other return or length, or the first episode that one of them lacks."""
    from mosaic_cli.comparing.reproducing import EndedEpisode, digest_of, first_difference

    one = [EndedEpisode(1.0, 9), EndedEpisode(2.0, 9)]
    assert first_difference(one, list(one)) is None
    assert first_difference(one, [one[0], EndedEpisode(2.0, 8)]) == 2
    assert first_difference(one, one[:1]) == 2
    assert digest_of(one) != digest_of([one[1], one[0]])


def test_tensors_are_compared_and_what_is_said_of_them_is_not(tmp_path: Path) -> None:
    """In a file of PyTorch its pickle names the run; in an npz the versions of packages do."""
    from mosaic_cli.comparing.reproducing import tensors_digest

    def written(name: str, members: dict[str, bytes]) -> Path:
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            for member, data in members.items():
                archive.writestr(member, data)
        return tmp_path / name

    one = tensors_digest(written("a.pt", {"a/data.pkl": b"1", "a/data/0": b"w"}))
    assert one == tensors_digest(written("b.pt", {"b/data.pkl": b"2", "b/data/0": b"w"}))
    assert one != tensors_digest(written("c.pt", {"c/data.pkl": b"1", "c/data/0": b"v"}))
    table = tensors_digest(written("a.npz", {"q.npy": b"1", "packages.npy": b"1"}))
    assert table == tensors_digest(written("b.npz", {"q.npy": b"1", "packages.npy": b"2"}))


def test_a_changed_package_and_thread_count_are_named(mosaic: Mosaic, answers: Answers) -> None:
    """From the config events and the records of the two runs."""
    from mosaic_cli.comparing.reproducing import differing_facts
    from mosaic_cli.target import open_client

    for run_id, torch, threads, lock in ((RUN_ID, "2.13.0", 1, "aa"), (OTHER, "2.14.0", 4, "bb")):
        config = {"packages": {"torch": torch, "numpy": "2"}, "surroundings": {"threads": threads}}
        event = {"type": "config", "data": config}
        answers[f"/api/v1/runs/{run_id}/events"] = {
            "events": [event],
            "cursor": "x",
            "has_more": False,
        }
        answers[f"/api/v1/runs/{run_id}"] = RUN | {"run_id": run_id, "worker_lock": lock}
    with open_client() as client:
        found = differing_facts(client, client.run(RUN_ID), client.run(OTHER))
    assert [(fact.what, fact.first, fact.second) for fact in found] == [
        ("packages.torch", "2.13.0", "2.14.0"),
        ("surroundings.threads", "1", "4"),
        ("worker_lock", "aa", "bb"),
    ]


def test_changed_code_is_said_with_how_to_have_it(mosaic: Mosaic, answers: Answers) -> None:
    """Commit and packages of a script differ: they are named, with what brings the first ones back."""
    row = {"attempt": 1, "env": 0, "episode": 0, "length": 9, "return": 9.0, "global_step": 9}
    for run_id, commit, numpy in ((RUN_ID, "aaa", "1"), (OTHER, "bbb", "2")):
        here = f"/api/v1/runs/{run_id}"
        config = {"git": {"commit": commit, "dirty": False}, "installed": {"numpy": numpy}}
        answers[here] = RUN | {"run_id": run_id}
        answers[f"{here}/episodes"] = {"episodes": [row]}
        answers[f"{here}/artifacts"] = []
        answers[f"{here}/events"] = {
            "events": [{"type": "config", "data": config}],
            "cursor": "x",
            "has_more": False,
        }
    code, said, _ = mosaic("reproduce", RUN_ID, "--with", OTHER)
    assert code == 0
    assert "code.git commit: aaa; now bbb" in said
    assert "git apply source/changes.diff" in said
    assert "packages.numpy: 1; now 2" in said
    assert "pip install -r" in said


def test_a_changed_lock_is_said_with_what_to_do(mosaic: Mosaic, answers: Answers) -> None:
    """The episodes are equal; the digests are named all the same, and that no earlier lock is installed again."""
    row = {"attempt": 1, "env": 0, "episode": 0, "length": 9, "return": 9.0, "global_step": 9}
    for run_id, lock in ((RUN_ID, "a" * 64), (OTHER, "b" * 64)):
        here = f"/api/v1/runs/{run_id}"
        answers[here] = RUN | {"run_id": run_id, "worker_lock": lock}
        answers[f"{here}/episodes"] = {"episodes": [row]}
        answers[f"{here}/artifacts"] = []
        answers[f"{here}/events"] = {"events": [], "cursor": "", "has_more": False}
    code, said, _ = mosaic("reproduce", RUN_ID, "--with", OTHER)
    assert code == 0
    assert "identical: 1 episodes" in said
    assert f"worker_lock: {'a' * 64}; now {'b' * 64}" in said
    assert "An earlier lock is not installed again." in said
