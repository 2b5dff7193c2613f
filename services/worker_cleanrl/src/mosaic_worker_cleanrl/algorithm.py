"""The algorithms this worker offers: one line each. All else is read from the script itself."""

import ast
import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mosaic_base.nearest import nearest_names
from mosaic_worker_cleanrl.errors import ScriptMissing

ATARI_FRAMES = 4
"""Frames of an Atari game for each decision, set by the scripts' own wrapper."""


@dataclass(frozen=True, kw_only=True)
class Script:
    """One script of the cleanrl package."""

    id: str
    module: str
    title: str
    summary: str
    action_spaces: tuple[str, ...]
    observation_spaces: tuple[str, ...] = (
        "box",
        "discrete",
        "multi_discrete",
        "multi_binary",
        "tuple",
        "dict",
    )
    """A discrete one reaches the script one-hot, a composite one flat."""
    takes: str = "vector"
    """Form of observation: `vector`, also what is made one on its way to the script, or `atari`, a game's frames."""
    kept_bytes: int | None = None
    """Bytes of one observation in its replay buffer, where the script changes the environment's observation."""
    keeps_next: bool = True
    """Whether its replay buffer keeps the next observation with each one."""
    whole_games: bool = False
    """Whether a minibatch is made of whole environments: their number must be a multiple of the minibatches."""
    page: str | None = None
    """Documentation that it shares with another one; None: its own."""
    note: str = ""
    """What this worker does so that the script runs; reported with every run."""
    without_extra: str | None = None
    """Environment to begin with where the packages of the script's own default are not installed."""
    policy: str = "agent"
    """Variable of the script that holds the network which acts."""
    policy_class: str = "Agent"
    """Class of that network."""
    normalizes: bool = False
    """Whether the script normalises observations by running statistics, without which its policy acts badly."""
    batch: tuple[str, ...] = ()
    """Arguments whose product is a batch: the script trains whole batches only, and with fewer steps nothing."""

    def source(self) -> Path:
        """Return the script's file, without importing it.

        Raises:
            ScriptMissing: the package is not installed.
        """
        try:
            found = importlib.util.find_spec(self.module)
        except ModuleNotFoundError:
            found = None
        if found is None or found.origin is None:
            raise ScriptMissing(self.module)
        return Path(found.origin)

    @property
    def frames_per_step(self) -> int:
        """Steps of the environment that one decision lasts."""
        return ATARI_FRAMES if self.takes == "atari" else 1

    def can_act(self, action_space: str, observation_space: str, form: str) -> bool:
        """Say whether the script takes an environment of these kinds of spaces and this form of observation."""
        return (
            form == self.takes
            and action_space in self.action_spaces
            and observation_space in self.observation_spaces
        )

    def imports(self, package: str) -> bool:
        """Say whether the script imports `package`, e.g. the `gym` that came before gymnasium."""
        for node in ast.walk(ast.parse(self.source().read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            else:
                continue
            if any(name.partition(".")[0] == package for name in names):
                return True
        return False


_STACK_BYTES = 4 * 84 * 84
"""What the Atari scripts with a buffer make of an observation: four small grey frames."""


def _atari(*, id: str, **fields: Any) -> Script:
    """A script for Atari games."""
    return Script(
        id=id,
        module=f"cleanrl.{id}",
        action_spaces=("discrete",),
        observation_spaces=("box",),
        takes="atari",
        kept_bytes=_STACK_BYTES,
        **fields,
    )


SCRIPTS = {
    script.id: script
    for script in (
        Script(
            id="ppo",
            module="cleanrl.ppo",
            title="PPO",
            summary="Proximal policy optimization: on-policy, several environments at once.",
            action_spaces=("discrete",),
            batch=("num_envs", "num_steps"),
        ),
        Script(
            id="dqn",
            module="cleanrl.dqn",
            policy="q_network",
            policy_class="QNetwork",
            title="DQN",
            summary="Deep Q-network: off-policy, with a replay buffer and a target network.",
            action_spaces=("discrete",),
        ),
        Script(
            id="c51",
            module="cleanrl.c51",
            policy="q_network",
            policy_class="QNetwork",
            title="C51",
            summary="Categorical DQN: learns how returns are distributed, on a fixed support of atoms.",
            action_spaces=("discrete",),
        ),
        Script(
            id="sac_continuous_action",
            module="cleanrl.sac_continuous_action",
            policy="actor",
            policy_class="Actor",
            title="SAC",
            summary="Soft actor-critic: off-policy, for continuous actions, with an entropy bonus tuned by itself.",
            action_spaces=("box",),
            without_extra="Pendulum-v1",
        ),
        Script(
            id="ppo_continuous_action",
            module="cleanrl.ppo_continuous_action",
            normalizes=True,
            title="PPO (continuous actions)",
            summary="Proximal policy optimization for continuous actions, with normalized observations and rewards.",
            action_spaces=("box",),
            without_extra="Pendulum-v1",
            batch=("num_envs", "num_steps"),
        ),
        _atari(
            id="ppo_atari",
            title="PPO (Atari)",
            summary="Proximal policy optimization on Atari frames: several games at once.",
            page="ppo",
            batch=("num_envs", "num_steps"),
        ),
        _atari(
            id="ppo_atari_lstm",
            title="PPO with memory (Atari)",
            summary="Proximal policy optimization with a recurrent network, which sees one frame at a time.",
            batch=("num_envs", "num_steps"),
            whole_games=True,
            page="ppo",
        ),
        _atari(
            id="dqn_atari",
            policy="q_network",
            policy_class="QNetwork",
            title="DQN (Atari)",
            summary="Deep Q-network on Atari frames, with a replay buffer of them.",
            page="dqn",
            keeps_next=False,
        ),
        _atari(
            id="c51_atari",
            policy="q_network",
            policy_class="QNetwork",
            title="C51 (Atari)",
            summary="Categorical DQN on Atari frames: learns how returns are distributed.",
            page="c51",
            keeps_next=False,
            note="The script asks stable-baselines3 for a replay buffer with two options (optimize_memory_usage, "
            "handle_timeout_termination) that version 2 refuses together. It gets the first alone, as CleanRL's later "
            "versions do: a game that is cut at its 108,000th frame counts as ended.",
        ),
        _atari(
            id="sac_atari",
            policy="actor",
            policy_class="Actor",
            title="SAC (Atari)",
            summary="Soft actor-critic for discrete actions, on Atari frames.",
        ),
    )
}


def algorithms_for(action_space: str, observation_space: str, form: str) -> list[str]:
    """Return the ids of the algorithms that can act in an environment of these kinds of spaces."""
    return [
        script.id
        for script in SCRIPTS.values()
        if script.can_act(action_space, observation_space, form)
    ]


def nearest_algorithms(algorithm: str) -> list[str]:
    """Return known ids close to `algorithm`, best first."""
    wanted = algorithm.lower()
    begun = [name for name in SCRIPTS if wanted and name.startswith(wanted)]
    close = nearest_names(wanted, SCRIPTS)
    return (begun + [name for name in close if name not in begun])[:3]
