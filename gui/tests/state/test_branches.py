"""The tree of an episode and of what goes on from it."""

from tests.specimen import run, run_id

from mosaic_contracts.runs import RunView
from mosaic_contracts.states import RunState
from mosaic_gui.state.branches import BranchFacts, BranchIndex, path_to, return_words, step_to_open
from mosaic_gui.state.episode_list import EpisodeAddress

ROOT = EpisodeAddress(run_id(0), 1, 0, 9)


def branch(n: int, of: int, step: int, episode: int = 0, **spec: object) -> RunView:
    """Run `n`, which goes on from a step of run `of`."""
    point = {"run_id": run_id(of), "episode": episode, "step": step, "attempt": 1}
    whole = {"kind": "play", "start_from": point | {"actor": "policy"}} | spec
    return run(n, RunState.SUCCEEDED, spec=whole)


def person(n: int, of: int, step: int) -> RunView:
    """Run `n`, in which a person goes on."""
    point = {"run_id": run_id(of), "episode": 0, "step": step, "actor": "human", "attempt": 1}
    spec = {"kind": "play", "worker": "play", "algorithm": "human", "start_from": point}
    return run(n, RunState.RUNNING, spec=spec)


RUNS = {
    one.run_id: one
    for one in (
        run(0, RunState.SUCCEEDED),
        branch(1, 0, 40, episode=9, parameters={"checkpoint": f"{run_id(7)}/checkpoints/best.pt"}),
        branch(2, 0, 12, episode=9),
        branch(3, 0, 5, episode=2),
        person(4, 1, 44),
        run(5),
    )
}
FACTS = {
    run_id(0): BranchFacts(9, steps=60, episode_return=60.0),
    run_id(1): BranchFacts(0, steps=80, episode_return=80.0),
    run_id(4): BranchFacts(0, steps=50, episode_return=50.0, is_open=True),
}


def test_a_tree_has_each_branch_below_what_it_goes_on_from() -> None:
    """By step; branches of other episodes are in trees of their own."""
    root = BranchIndex(RUNS).tree(ROOT, FACTS)
    assert root is not None
    assert (root.who, root.address, return_words(root)) == ("Episode 9 · ppo", ROOT, "60")
    assert [(child.run_id, child.step) for child in root.children] == [
        (run_id(2), 12),
        (run_id(1), 40),
    ]
    (last,) = root.children[1].children
    assert (root.children[1].who, last.who) == (f"ppo · best · …{run_id(7)[-4:]}", "Person")
    assert (last.step, return_words(last)) == (44, "50 …")


def test_each_episode_of_a_tree_leads_to_the_same_tree() -> None:
    """From a branch of a branch up to the recorded episode."""
    index = BranchIndex(RUNS)
    deep = EpisodeAddress(run_id(4), 1, 0, 0)
    root = index.tree(deep, FACTS)
    assert root == index.tree(ROOT, FACTS)
    assert root is not None
    assert [node.run_id for node in path_to(root, deep)] == [run_id(0), run_id(1), run_id(4)]


def test_a_node_opens_where_it_branches_off() -> None:
    """The recorded episode opens where the shown branch left it."""
    root = BranchIndex(RUNS).tree(ROOT, FACTS)
    assert root is not None
    deep = EpisodeAddress(run_id(4), 1, 0, 0)
    assert step_to_open(root, run_id(1), ROOT) == 40
    assert step_to_open(root, run_id(0), deep) == 40
    assert step_to_open(root, run_id(1), deep) == 44
    assert step_to_open(root, run_id(0), ROOT) == 0


def test_an_episode_without_branches_has_no_tree() -> None:
    """Neither has a further episode of a branch, which began with a reset."""
    index = BranchIndex(RUNS)
    assert index.tree(EpisodeAddress(run_id(0), 1, 0, 3), FACTS) is None
    assert index.tree(EpisodeAddress(run_id(1), 1, 0, 5), FACTS) is None


def test_a_branch_of_a_deleted_run_keeps_its_tree() -> None:
    """Its recorded episode is named and cannot be opened."""
    runs = {key: one for key, one in RUNS.items() if key != run_id(0)}
    root = BranchIndex(runs).tree(EpisodeAddress(run_id(2), 1, 0, 0), {})
    assert root is not None
    assert (root.who, root.is_known) == ("Episode 9", False)
