"""What a run does with Stable-Baselines3: builds a model, trains it, saves and loads it without running code."""

import json
import zipfile
from dataclasses import asdict, fields, replace

import numpy as np
import stable_baselines3 as sb3
from gymnasium import make
from stable_baselines3.common.callbacks import ConvertCallback, EvalCallback
from stable_baselines3.common.logger import KVWriter, Logger
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize
from worker import Common

FACTS = "mosaic.json"  # entry of a checkpoint, which is otherwise what `model.save` writes
OURS = {each.name for each in fields(Common)} - {"learning_rate", "gamma"}


def build(algorithm, envs, given, seed, learns=True):
    vector = DummyVecEnv([lambda env=env: Monitor(env) for env in envs])
    if given.normalize:
        vector = VecNormalize(vector, training=learns, norm_reward=learns)
    own = {name: value for name, value in asdict(given).items() if name not in OURS}
    if given.layers:
        own["policy_kwargs"] = {"net_arch": [int(size) for size in given.layers.split(",")]}
    model = getattr(sb3, algorithm.upper())("MlpPolicy", vector, seed=seed, **own)
    if given.checkpoint:
        model.set_parameters(given.checkpoint)  # tensors only: nothing of the file is executed
        for name, values in read_facts(given.checkpoint)["normalizer"].items():
            if given.normalize:
                vars(getattr(vector, name)).update({k: np.array(v) for k, v in values.items()})
    return model


def read_facts(checkpoint):
    with zipfile.ZipFile(checkpoint) as archive:
        return json.loads(archive.read(FACTS))


def save(model, given, draft):
    with draft.open("wb") as file:
        model.save(file)
    kept = ("obs_rms", "ret_rms") if given.normalize else ()
    normalizer = {name: vars(getattr(model.get_env(), name)) for name in kept}
    facts = {"arguments": asdict(given), "normalizer": normalizer, "step": model.num_timesteps}
    with zipfile.ZipFile(draft, "a") as archive:
        archive.writestr(FACTS, json.dumps(facts, default=lambda array: array.tolist()))


class Curves(KVWriter):
    def __init__(self, telemetry):
        self.telemetry = telemetry

    def write(self, key_values, key_excluded, step=0):
        self.telemetry.numbers(step, key_values)


def train(context, envs, given):
    model = build(context.spec.algorithm, envs, given, context.spec.seed)
    model.set_logger(Logger(None, [Curves(context.telemetry)]))

    def store(reason):
        path, step = f"{model.num_timesteps}.zip", model.num_timesteps
        write = context.telemetry.write_checkpoint
        write(path, lambda draft: save(model, given, draft), step, reason)

    def at_safe_point(*_variables):
        if given.save_every and model.num_timesteps % given.save_every < given.num_envs:
            store("periodic")
        return not context.stop.requested

    callbacks = [ConvertCallback(at_safe_point)]
    if given.eval_every:
        env = DummyVecEnv([lambda: Monitor(make(context.spec.environment))])
        env = VecNormalize(env, training=False, norm_reward=False) if given.normalize else env
        every = max(1, given.eval_every // given.num_envs)
        callbacks.append(EvalCallback(env, eval_freq=every, verbose=0))
    model.learn(given.steps, callbacks)
    store("stop" if context.stop.requested else "final")


def play_checkpoint(play, spec, given):
    facts = read_facts(given.checkpoint)
    own = {"checkpoint": given.checkpoint, "sampled": given.sampled}
    trained = replace(given, **(facts["arguments"] | own))
    model = build(spec.algorithm, [play.env], trained, spec.seed, learns=False)
    seen = model.env.normalize_obs if trained.normalize else lambda observation: observation
    play.act(
        lambda observation: model.predict(seen(observation), deterministic=not given.sampled)[0],
        begin=model.set_random_seed,
        checkpoint=given.checkpoint,
        greedy=not given.sampled,
        normalized=trained.normalize,
        trained_steps=facts["step"],
    )
