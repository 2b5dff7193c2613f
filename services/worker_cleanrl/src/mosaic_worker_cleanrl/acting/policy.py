"""The network of a checkpoint, rebuilt from the script's own class, and the actions that it takes."""

import importlib.util
import inspect
from collections.abc import Mapping
from types import ModuleType, SimpleNamespace
from typing import Any, Protocol

import gymnasium
import numpy as np
import torch
from gymnasium.vector.utils import batch_space
from torch.distributions import Categorical, Normal

from mosaic_worker_cleanrl.algorithm import Script
from mosaic_worker_cleanrl.errors import CheckpointRefused, ScriptMissing


class Policy(Protocol):
    """Chooses actions."""

    def begin(self, seed: int) -> None:
        """Begin an episode; what is drawn at random depends on the seed alone."""

    def act(self, observation: Any) -> Any:
        """Return the action for one observation."""

    def see(self, observation: Any) -> None:
        """Take note of an observation for which a person chose the action."""

    def life_ended(self) -> None:
        """Take note that what the script calls an episode has ended, e.g. a life in a game."""


class GreedyCategorical(Categorical):
    """Draws the most likely value."""

    def sample(self, sample_shape: Any = ()) -> torch.Tensor:
        """Return the most likely value."""
        return self.logits.argmax(-1)


class GreedyNormal(Normal):
    """Draws the mean."""

    def sample(self, sample_shape: Any = ()) -> torch.Tensor:
        """Return the mean."""
        return self.loc


def load_module(name: str) -> ModuleType:
    """Execute the definitions of a script; its training lies behind `if __name__ == "__main__"` and does not run.

    The module is this caller's own: names in it can be replaced without changing what others import.

    Raises:
        ScriptMissing: not installed.
    """
    try:
        spec = importlib.util.find_spec(name)
    except ModuleNotFoundError:
        spec = None
    if spec is None or spec.loader is None:
        raise ScriptMissing(name)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def build_policy(
    script: Script,
    module: ModuleType,
    env: gymnasium.Env[Any, Any],
    state: Mapping[str, Any],
    *,
    sampled: bool,
) -> Policy:
    """Rebuild the network that acts.

    Args:
        script: whose network it is.
        module: the script, as `load_module` returned it.
        env: the script's environment with all its wrappers.
        state: the loaded checkpoint.
        sampled: whether actions are drawn as in the training.

    Raises:
        CheckpointRefused: the checkpoint does not fit the network.
    """
    if not sampled:
        for name, greedy in (("Categorical", GreedyCategorical), ("Normal", GreedyNormal)):
            if hasattr(module, name):
                setattr(module, name, greedy)
    network = _rebuilt(script, module, env, state)
    if script.policy == "agent":
        return RecurrentPolicy(network) if hasattr(network, "lstm") else AgentPolicy(network)
    if script.policy == "q_network":
        explores = float(state["arguments"]["end_e"]) if sampled else 0.0
        return ValuePolicy(network, explores)
    if not hasattr(network, "get_action"):
        noise = float(state["arguments"].get("exploration_noise", 0.0)) if sampled else 0.0
        return DeterministicPolicy(network, noise, env.action_space)
    is_discrete = isinstance(env.action_space, gymnasium.spaces.Discrete)
    return ActorPolicy(network, takes_mean=not sampled and not is_discrete)


def _rebuilt(
    script: Script, module: ModuleType, env: gymnasium.Env[Any, Any], state: Mapping[str, Any]
) -> Any:
    spaces = SimpleNamespace(
        single_observation_space=env.observation_space,
        single_action_space=env.action_space,
        observation_space=batch_space(env.observation_space, 1),
        action_space=batch_space(env.action_space, 1),
    )
    kind = getattr(module, script.policy_class)
    _, *names = inspect.signature(kind).parameters
    given = {name: state["arguments"][name] for name in names if name in state["arguments"]}
    network = kind(spaces, **given)
    try:
        network.load_state_dict(state["networks"][script.policy])
    except RuntimeError as error:
        lines = " ".join(str(error).split())
        raise CheckpointRefused(
            f"The checkpoint's network does not fit {env.spec.id if env.spec else 'the environment'}: {lines[:500]}"
        ) from error
    return network.eval()


def _batch(observation: Any) -> torch.Tensor:
    """One observation as the scripts give them to their networks."""
    return torch.Tensor(np.asarray(observation)[None])


class AgentPolicy:
    """Actor and critic in one network: the PPO scripts."""

    def __init__(self, agent: Any) -> None:
        self.agent = agent

    def begin(self, seed: int) -> None:
        """Seed what is drawn."""
        torch.manual_seed(seed)

    def act(self, observation: Any) -> Any:
        """Draw an action, or take the most likely one."""
        with torch.no_grad():
            return self.agent.get_action_and_value(_batch(observation))[0].numpy()[0]

    def see(self, observation: Any) -> None:
        """Nothing is remembered."""

    def life_ended(self) -> None:
        """Nothing is remembered."""


class RecurrentPolicy:
    """A network that remembers: PPO with an LSTM. A life begins with an empty memory, as in the training."""

    def __init__(self, agent: Any) -> None:
        self.agent = agent
        self._memory = self._empty()

    def _empty(self) -> tuple[torch.Tensor, torch.Tensor]:
        shape = (self.agent.lstm.num_layers, 1, self.agent.lstm.hidden_size)
        return torch.zeros(shape), torch.zeros(shape)

    def begin(self, seed: int) -> None:
        """Forget, and seed what is drawn."""
        torch.manual_seed(seed)
        self._memory = self._empty()

    def act(self, observation: Any) -> Any:
        """Draw an action, or take the most likely one."""
        with torch.no_grad():
            action, _, _, _, self._memory = self.agent.get_action_and_value(
                _batch(observation), self._memory, torch.zeros(1)
            )
        return action.numpy()[0]

    def see(self, observation: Any) -> None:
        """Remember it."""
        self.act(observation)

    def life_ended(self) -> None:
        """Forget."""
        self._memory = self._empty()


class ValuePolicy:
    """A network of action values: DQN, and C51 with a distribution for each action."""

    def __init__(self, network: Any, explores: float) -> None:
        self.network = network
        self._explores = explores
        self._draws = np.random.default_rng()

    def begin(self, seed: int) -> None:
        """Seed what is drawn."""
        self._draws = np.random.default_rng(seed)

    def act(self, observation: Any) -> Any:
        """Take the best action; where it explores, now and then another."""
        with torch.no_grad():
            x = _batch(observation)
            if hasattr(self.network, "get_action"):
                best = int(self.network.get_action(x)[0])
                count = self.network.n
            else:
                values = self.network(x)
                best, count = int(values.argmax()), values.shape[1]
        if self._explores and self._draws.random() < self._explores:
            return int(self._draws.integers(count))
        return best

    def see(self, observation: Any) -> None:
        """Nothing is remembered."""

    def life_ended(self) -> None:
        """Nothing is remembered."""


class ActorPolicy:
    """A network of its own for the actor: SAC."""

    def __init__(self, actor: Any, *, takes_mean: bool) -> None:
        self.actor = actor
        self._place = 2 if takes_mean else 0
        """Where `get_action` has the action: 0 the drawn one, 2 the mean of continuous ones."""

    def begin(self, seed: int) -> None:
        """Seed what is drawn."""
        torch.manual_seed(seed)

    def act(self, observation: Any) -> Any:
        """Draw an action, or take the most likely one."""
        with torch.no_grad():
            return self.actor.get_action(_batch(observation))[self._place].numpy()[0]

    def see(self, observation: Any) -> None:
        """Nothing is remembered."""

    def life_ended(self) -> None:
        """Nothing is remembered."""


class DeterministicPolicy:
    """An actor that gives one action: TD3 and DDPG. Drawn as in the training, it is disturbed by normal noise."""

    def __init__(self, actor: Any, noise: float, space: Any) -> None:
        self.actor = actor
        self._noise = noise
        """Standard deviation, as a share of the actor's scale of actions."""
        self._space = space

    def begin(self, seed: int) -> None:
        """Seed what is drawn."""
        torch.manual_seed(seed)

    def act(self, observation: Any) -> Any:
        """Return the actor's action, with noise where that was asked for."""
        with torch.no_grad():
            action = self.actor(_batch(observation))[0]
            if not self._noise:
                return action.numpy()
            scale = self.actor.action_scale.expand_as(action)
            noisy = action + torch.normal(0.0, scale * self._noise)
        return noisy.numpy().clip(self._space.low, self._space.high)

    def see(self, observation: Any) -> None:
        """Nothing is remembered."""

    def life_ended(self) -> None:
        """Nothing is remembered."""
