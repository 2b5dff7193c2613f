"""The tree of an episode and the runs that go on from its steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from mosaic_contracts.branches import BranchPoint
from mosaic_contracts.choices import BEST
from mosaic_contracts.runs import RunView
from mosaic_gui.state import run_row, wording
from mosaic_gui.state.episode_list import EpisodeAddress
from mosaic_gui.state.language import tr

PERSONAL = "human"
"""Algorithm in whose runs a person acts."""


@dataclass(frozen=True)
class BranchFacts:
    """What the stack knows of the episode of a run."""

    episode: int
    """Number of the episode in its run."""
    attempt: int = 1
    env: int = 0
    steps: int | None = None
    episode_return: float | None = None
    """Return up to the last recorded step."""
    is_open: bool = False
    """The episode goes on."""


@dataclass(frozen=True)
class BranchNode:
    """The recorded episode, or a run that goes on from it."""

    run_id: str
    who: str
    """Words for the one who acts."""
    step: int | None = None
    """Step of the parent's episode after which it goes on; None: it is the recorded episode."""
    by_person: bool = False
    facts: BranchFacts | None = None
    """None: not known yet, or its run recorded no step."""
    state: str = ""
    """Word for the state of its run."""
    is_live: bool = False
    checkpoint: str = ""
    """The checkpoint that acts, as `RUN/PATH`; empty: none does."""
    name: str = ""
    """Name of its run; empty: it is not in the list."""
    address: EpisodeAddress | None = None
    """Its episode; None: not known yet."""
    children: tuple[BranchNode, ...] = ()

    @property
    def is_known(self) -> bool:
        """Whether its run is in the list, so that it can be opened."""
        return bool(self.name)

    def walk(self) -> Iterator[BranchNode]:
        """This node and all below it."""
        yield self
        for child in self.children:
            yield from child.walk()


class BranchIndex:
    """All branches in the list of runs, by the run from which they go on."""

    def __init__(self, runs: Mapping[str, RunView]) -> None:
        self._runs = runs
        self._by_parent: dict[str, list[RunView]] = {}
        for run in runs.values():
            if (point := run.spec.start_from) is not None:
                self._by_parent.setdefault(point.run_id, []).append(run)
        for found in self._by_parent.values():
            found.sort(key=_order)

    def tree(self, address: EpisodeAddress, facts: Mapping[str, BranchFacts]) -> BranchNode | None:
        """Return the whole tree to which an episode belongs; None: nothing goes on from it, and it is no branch.

        Args:
            address: the episode.
            facts: what is known of the episode of each branch, and of the recorded one, by run.
        """
        root = self._root_of(address, facts)
        children = self._children(root.run_id, root, facts, frozenset({root.run_id}))
        if not children:
            return None
        run = self._runs.get(root.run_id)
        found = facts.get(root.run_id)
        if found is not None and _address(root.run_id, found) != root:
            found = None
        return BranchNode(
            root.run_id,
            _recorded_words(run, root),
            by_person=run is not None and run.spec.algorithm == PERSONAL,
            facts=found,
            state=run_row.badge(run)[0] if run is not None else "",
            is_live=run is not None and not run.state.is_final,
            name=run.name if run is not None else "",
            address=root,
            children=children,
        )

    def _root_of(self, address: EpisodeAddress, facts: Mapping[str, BranchFacts]) -> EpisodeAddress:
        seen = {address.run_id}
        while (run := self._runs.get(address.run_id)) is not None:
            point, known = run.spec.start_from, facts.get(run.run_id)
            if point is None or point.run_id in seen:
                break
            if known is not None and known.episode != address.episode:
                break  # a further episode of a branch begins with a reset
            seen.add(point.run_id)
            address = _source(point)
        return address

    def _children(
        self,
        run_id: str,
        address: EpisodeAddress | None,
        facts: Mapping[str, BranchFacts],
        seen: frozenset[str],
    ) -> tuple[BranchNode, ...]:
        """Branches of an episode; where its number is not known yet, of any episode of its run."""
        return tuple(
            self._node(run, point, facts, seen | {run.run_id})
            for run in self._by_parent.get(run_id, ())
            if (point := run.spec.start_from) is not None
            and run.run_id not in seen
            and (address is None or _source(point) == address)
        )

    def _node(
        self,
        run: RunView,
        point: BranchPoint,
        facts: Mapping[str, BranchFacts],
        seen: frozenset[str],
    ) -> BranchNode:
        known = facts.get(run.run_id)
        address = _address(run.run_id, known) if known is not None else None
        by_person = point.actor == "human" or (
            point.actor is None and run.spec.algorithm == PERSONAL
        )
        return BranchNode(
            run.run_id,
            _who(run, seen, by_person=by_person),
            step=point.step,
            by_person=by_person,
            facts=known,
            state=run_row.badge(run)[0],
            is_live=not run.state.is_final,
            checkpoint=_checkpoint(run),
            name=run.name,
            address=address,
            children=self._children(run.run_id, address, facts, seen),
        )


def path_to(root: BranchNode, address: EpisodeAddress) -> list[BranchNode]:
    """Nodes from the root to the one of an episode; empty: it is not in the tree."""
    if root.address == address:
        return [root]
    for child in root.children:
        if path := path_to(child, address):
            return [root, *path]
    return []


def step_to_open(root: BranchNode, run_id: str, shown: EpisodeAddress | None) -> int:
    """The step at which a node is opened: where it branches off, or where the shown branch left it."""
    path = path_to(root, shown) if shown is not None else []
    for node, child in pairwise(path):
        if node.run_id == run_id:
            return child.step or 0
    return next((node.step or 0 for node in root.walk() if node.run_id == run_id), 0)


def branch_help(node: BranchNode) -> str:
    """Everything that is known of a node, in lines."""
    lines = [node.who]
    if node.step is not None:
        lines.append(tr("Goes on from step {n}", n=wording.count(node.step)))
    if node.checkpoint:
        lines.append(node.checkpoint)
    if node.facts is not None and node.facts.steps is not None:
        lines.append(tr("{n} steps recorded", n=wording.count(node.facts.steps)))
    if node.name:
        lines.append(f"{node.name} · {node.state}")
    else:
        lines.append(tr("Its run was deleted, or is not in the list."))
    return "\n".join(lines)


def return_words(node: BranchNode) -> str:
    """The return so far; `…` while the episode goes on."""
    facts = node.facts
    if facts is None or facts.episode_return is None:
        return node.state if node.is_live else wording.NOTHING
    value = wording.number(facts.episode_return)
    return f"{value} …" if facts.is_open and node.is_live else value


def needed(root: BranchNode | None) -> Sequence[str]:
    """Runs of a tree of which facts are wanted."""
    return [node.run_id for node in root.walk() if node.is_known] if root is not None else []


def _order(run: RunView) -> tuple[int, str]:
    point = run.spec.start_from
    return (point.step if point is not None else 0), run.run_id


def _source(point: BranchPoint) -> EpisodeAddress:
    return EpisodeAddress(point.run_id, point.attempt or 1, point.env, point.episode)


def _address(run_id: str, facts: BranchFacts) -> EpisodeAddress:
    return EpisodeAddress(run_id, facts.attempt, facts.env, facts.episode)


def _recorded_words(run: RunView | None, address: EpisodeAddress) -> str:
    episode = tr("Episode {n}", n=wording.count(address.episode))
    if run is None:
        return episode
    who = tr("Person") if run.spec.algorithm == PERSONAL else run.spec.algorithm
    return f"{episode} · {who}"


def _who(run: RunView, ancestors: frozenset[str], *, by_person: bool) -> str:
    if by_person and run.spec.algorithm == PERSONAL:
        return tr("Person")
    words = _policy_words(run, ancestors)
    return tr("Person, {policy}", policy=words) if by_person else words


def _policy_words(run: RunView, ancestors: frozenset[str]) -> str:
    """Name of the policy, with the run that it is from where that is none of those that led here."""
    owner, _, path = _checkpoint(run).partition("/")
    parts = [run.spec.algorithm]
    if path.rpartition("/")[2].startswith(f"{BEST}."):
        parts.append(BEST)
    if path and owner not in ancestors:
        parts.append(f"…{owner[-4:]}")
    return " · ".join(parts)


def _checkpoint(run: RunView) -> str:
    """The checkpoint that acts, as `RUN/PATH`; empty: none does."""
    given = run.spec.parameters.get("checkpoint")
    return given if isinstance(given, str) else ""
