"""What a run does with RLlib: one algorithm on one node; a checkpoint holds tensors and no code."""

import io
import os
import signal

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # Ray would send statistics to its makers

import ray
import torch
from ray.rllib.algorithms.ppo import PPOConfig
from ray.tune.registry import register_env

HELD = {}  # the environment of the run; Ray pickles the function that makes it, and no environment


def held_environment(_config):
    return HELD["env"]


def configured(given, env, seed):
    HELD["env"] = env
    register_env("of_the_run", held_environment)
    return (
        PPOConfig()
        .environment("of_the_run", disable_env_checking=True)
        .env_runners(num_env_runners=0, num_envs_per_env_runner=1)
        .learners(num_learners=0, num_gpus_per_learner=int(torch.cuda.is_available()))
        .training(
            lr=given.learning_rate,
            gamma=given.gamma,
            train_batch_size_per_learner=given.batch_size,
            minibatch_size=min(given.minibatch_size, given.batch_size),
            num_epochs=given.num_epochs,
        )
        .debugging(seed=seed, log_level="ERROR")
    )


def load_weights(checkpoint):
    return torch.load(checkpoint, weights_only=True)


def train(context, run, env, given):
    stops = signal.getsignal(signal.SIGTERM)
    ray.init(num_cpus=context.spec.cpus, include_dashboard=False, log_to_driver=False)
    signal.signal(signal.SIGTERM, stops)  # Ray's own handler would end the run without a checkpoint
    try:
        algorithm = configured(given, env, context.spec.seed).build_algo()
        if given.checkpoint:
            state = {name: each.numpy() for name, each in load_weights(given.checkpoint).items()}
            algorithm.learner_group.foreach_learner(
                lambda one: one.module["default_policy"].set_state(state)
            )
            algorithm.env_runner_group.sync_weights(
                from_worker_or_learner_group=algorithm.learner_group
            )
        while run.global_step < given.steps and not context.stop.requested:  # a safe point
            result = algorithm.train()
            context.telemetry.numbers(run.global_step, result["learners"]["default_policy"])
        state = algorithm.get_module().get_state()
        data = io.BytesIO()
        torch.save({name: torch.as_tensor(each) for name, each in state.items()}, data)
        reason = "stop" if context.stop.requested else "final"
        context.telemetry.write_checkpoint("module.pt", data.getvalue(), run.global_step, reason)
        algorithm.stop()
    finally:
        ray.shutdown()


def load_policy(env, given):
    spec = configured(given, env, 0).get_rl_module_spec(env=env)
    module = spec.build()
    module.set_state({name: each.numpy() for name, each in load_weights(given.checkpoint).items()})

    def act(observation):
        batch = {"obs": torch.as_tensor(observation)[None]}
        return int(module.forward_inference(batch)["action_dist_inputs"][0].argmax())

    return act
