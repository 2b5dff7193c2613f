"""The scripts of CleanRL that this worker knows: one entry each. All else is read from the script itself."""

from typing import Any

from mosaic_worker_cleanrl.script import Script

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


def _jax(*, id: str, **fields: Any) -> Script:
    """A script for JAX with vectors; its checkpoints hold its networks and cannot act here."""
    return Script(id=id, module=f"cleanrl.{id}", acts=False, **fields)


def _other(*, id: str, **fields: Any) -> Script:
    """A script whose environments come from a package that this worker cannot have."""
    return Script(id=id, module=f"cleanrl.{id}", action_spaces=("discrete",), acts=False, **fields)


_BUFFER_NOTE = (
    "The script asks stable-baselines3 for a replay buffer with two options (optimize_memory_usage, "
    "handle_timeout_termination) that version 2 refuses together. It gets the first alone, as CleanRL's later "
    "versions do: a game that is cut at its 108,000th frame counts as ended."
)

TABLE = {
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
            note=_BUFFER_NOTE,
        ),
        _atari(
            id="sac_atari",
            policy="actor",
            policy_class="Actor",
            title="SAC (Atari)",
            summary="Soft actor-critic for discrete actions, on Atari frames.",
        ),
        Script(
            id="td3_continuous_action",
            module="cleanrl.td3_continuous_action",
            policy="actor",
            policy_class="Actor",
            title="TD3",
            summary="Twin delayed DDPG: off-policy, for continuous actions, with two critics and a delayed policy.",
            action_spaces=("box",),
            without_extra="Pendulum-v1",
        ),
        Script(
            id="ddpg_continuous_action",
            module="cleanrl.ddpg_continuous_action",
            policy="actor",
            policy_class="Actor",
            title="DDPG",
            summary="Deep deterministic policy gradient: off-policy, for continuous actions, with one critic.",
            action_spaces=("box",),
            without_extra="Pendulum-v1",
        ),
        Script(
            id="rpo_continuous_action",
            module="cleanrl.rpo_continuous_action",
            normalizes=True,
            title="RPO",
            summary="Robust policy optimization: PPO for continuous actions whose means are disturbed while it learns.",
            action_spaces=("box",),
            without_extra="Pendulum-v1",
            batch=("num_envs", "num_steps"),
        ),
        _atari(
            id="ppo_atari_multigpu",
            title="PPO with torch.distributed (Atari)",
            summary="Proximal policy optimization on Atari frames, written for several processes; here it runs in one.",
            batch=("num_envs", "num_steps"),
        ),
        _jax(
            id="dqn_jax",
            title="DQN (JAX)",
            summary="Deep Q-network, compiled by JAX.",
            action_spaces=("discrete",),
            page="dqn",
        ),
        _jax(
            id="c51_jax",
            title="C51 (JAX)",
            summary="Categorical DQN, compiled by JAX.",
            action_spaces=("discrete",),
            page="c51",
        ),
        _jax(
            id="ddpg_continuous_action_jax",
            title="DDPG (JAX)",
            summary="Deep deterministic policy gradient, compiled by JAX.",
            action_spaces=("box",),
            page="ddpg_continuous_action",
            without_extra="Pendulum-v1",
        ),
        _jax(
            id="td3_continuous_action_jax",
            title="TD3 (JAX)",
            summary="Twin delayed DDPG, compiled by JAX.",
            action_spaces=("box",),
            page="td3_continuous_action",
            without_extra="Pendulum-v1",
        ),
        _atari(
            id="dqn_atari_jax",
            title="DQN (Atari, JAX)",
            summary="Deep Q-network on Atari frames, compiled by JAX.",
            page="dqn",
            keeps_next=False,
            acts=False,
        ),
        _atari(
            id="c51_atari_jax",
            title="C51 (Atari, JAX)",
            summary="Categorical DQN on Atari frames, compiled by JAX.",
            page="c51",
            keeps_next=False,
            acts=False,
            note=_BUFFER_NOTE,
        ),
        _other(
            id="ppo_atari_envpool",
            title="PPO (Atari, EnvPool)",
            summary="Proximal policy optimization on Atari games that EnvPool steps in threads.",
            page="envpool",
            instead="ppo_atari",
        ),
        _other(
            id="ppo_atari_envpool_xla_jax",
            title="PPO (Atari, EnvPool in XLA)",
            summary="Proximal policy optimization whose games are stepped within a program that JAX compiles.",
            page="envpool",
            instead="ppo_atari",
        ),
        _other(
            id="ppo_atari_envpool_xla_jax_scan",
            title="PPO (Atari, EnvPool in XLA, scan)",
            summary="The same with whole rollouts within one compiled loop (jax.lax.scan).",
            page="envpool",
            instead="ppo_atari",
        ),
        _other(
            id="ppo_rnd_envpool",
            title="PPO with RND (Atari, EnvPool)",
            summary="PPO with a reward for what is new: the error of predicting a random network's output.",
            instead="ppo_atari",
        ),
        _other(
            id="ppo_procgen",
            title="PPO (Procgen)",
            summary="Proximal policy optimization on Procgen's generated levels.",
            page="procgen",
        ),
        _other(
            id="ppg_procgen",
            title="PPG (Procgen)",
            summary="Phasic policy gradient: PPO whose network is shared in a phase of its own.",
            page="procgen",
        ),
        _other(
            id="ppo_pettingzoo_ma_atari",
            title="PPO for two players (Atari, PettingZoo)",
            summary="Proximal policy optimization by self-play: one network acts for both players of a game.",
            instead="ppo_atari",
        ),
        Script(
            id="ppo_continuous_action_isaacgym",
            module="cleanrl.ppo_continuous_action_isaacgym.ppo_continuous_action_isaacgym",
            title="PPO (Isaac Gym)",
            summary="Proximal policy optimization on thousands of robots that are simulated on one GPU.",
            action_spaces=("box",),
            acts=False,
            instead="ppo_continuous_action",
        ),
    )
}
"""The scripts of the installed package."""


LATER = {
    script.id: script
    for script in (
        Script(
            id="pqn",
            module="cleanrl.pqn",
            policy="q_network",
            policy_class="QNetwork",
            title="PQN",
            summary="Parallelised Q-network: Q-learning on several environments at once, without a replay buffer.",
            action_spaces=("discrete",),
            batch=("num_envs", "num_steps"),
        ),
        _atari(
            id="rainbow_atari",
            policy="q_network",
            policy_class="NoisyDuelingDistributionalNetwork",
            title="Rainbow (Atari)",
            summary="DQN with six improvements together: double, duelling, prioritised, n-step, distributional, noisy.",
            acts=False,
        ),
        _other(
            id="pqn_atari_envpool",
            title="PQN (Atari, EnvPool)",
            summary="Parallelised Q-network on Atari games that EnvPool steps in threads.",
            page="pqn",
            instead="pqn",
        ),
        _other(
            id="pqn_atari_envpool_lstm",
            title="PQN with memory (Atari, EnvPool)",
            summary="Parallelised Q-network with a recurrent network, on games that EnvPool steps in threads.",
            page="pqn",
            instead="pqn",
        ),
        _other(
            id="qdagger_dqn_atari_impalacnn",
            title="QDagger with DQN (Atari)",
            summary="Begins with a teacher's policy and goes on as DQN with an IMPALA network.",
            page="qdagger",
            instead="dqn_atari",
        ),
        _other(
            id="qdagger_dqn_atari_jax_impalacnn",
            title="QDagger with DQN (Atari, JAX)",
            summary="Begins with a teacher's policy and goes on as DQN with an IMPALA network, compiled by JAX.",
            page="qdagger",
            instead="dqn_atari",
        ),
        Script(
            id="ppo_trxl",
            module="cleanrl.ppo_trxl.ppo_trxl",
            title="PPO with Transformer-XL",
            summary="Proximal policy optimization with a transformer that remembers earlier steps of the episode.",
            action_spaces=("discrete",),
            acts=False,
            instead="ppo",
        ),
    )
}
"""Scripts of current CleanRL that the installed version does not have yet."""
