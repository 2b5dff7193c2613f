"""The worker as its entry point knows it."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, count, repeat
from typing import Any, Literal

import gymnasium

from mosaic_contracts.problems import ProblemCode
from mosaic_contracts.spec import RecordLevel, RunKind, RunSpec
from mosaic_contracts.worker import Algorithm, WorkerDescription
from mosaic_gymkit import EnvironmentRun, EnvironmentSpec, replay_run
from mosaic_gymkit.play.inputs import NOT_BEGUN, PersonInputs
from mosaic_gymkit.play.keymap import KeyMap, KeyMapInvalid
from mosaic_gymkit.play.known_keys import has_turns
from mosaic_gymkit.play.loop import PlayLoop
from mosaic_gymkit.play.played import PersonalEnvironment
from mosaic_gymkit.play.prefix import EpisodePrefix
from mosaic_gymkit.play.timing import LEAVE_S, RAMP_S, PlayTiming, controls_of, own_rate
from mosaic_worker_play import VERSION
from mosaic_worker_play.catalog import describe_environments, install_hint, list_environments
from mosaic_worker_play.chance import RANDOM, RandomParameters, play_randomly
from mosaic_worker_play.given import ObjectInvalid, read_object
from mosaic_workerkit.entry import TrainContext
from mosaic_workerkit.errors import EnvironmentUnusable, RunRefused
from mosaic_workerkit.findings import Findings
from mosaic_workerkit.parameters import parameter, parameter_schema
from mosaic_workerkit.worker import BaseWorker

_MAKE, _KEYS, _CLOCK = "environment", "keys", "time"


@dataclass(frozen=True)
class HumanParameters:
    """What a person may set."""

    timing: Literal["auto", "turns", "real_time"] = parameter(
        "auto",
        "turns: each press of a key is one step. real_time: the environment goes on by itself. auto: turns where "
        "nothing happens by itself (toy text, MiniGrid).",
        x_group=_CLOCK,
    )
    rate: float = parameter(
        0.0,
        "Steps per second in real time. 0: the environment's own rate.",
        minimum=0,
        maximum=1000,
        x_group=_CLOCK,
    )
    wait_for_key: bool = parameter(
        True, "Whether an episode begins with the first key.", x_group=_CLOCK
    )
    leave_s: float = parameter(
        LEAVE_S,
        "Seconds without anybody who watches or acts after which the play ends.",
        minimum=1,
        maximum=86400,
        x_unit="s",
        x_group=_CLOCK,
    )
    keys: str = parameter(
        "",
        'Key map as JSON: an action by a key, or by keys joined with +, e.g. {"left": 0, "right": 1}. Empty: the '
        "environment's own map, else arrows and WASD.",
        x_group=_KEYS,
        x_keys=True,
    )
    idle: str = parameter(
        "",
        "Action without keys, as JSON. Empty: what the key map says, else the last action again.",
        x_group=_KEYS,
    )
    ramp_s: float = parameter(
        RAMP_S,
        "Seconds from the middle of a continuous action to its end while a key is held. 0: at once.",
        minimum=0,
        maximum=10,
        x_unit="s",
        x_group=_KEYS,
    )
    options: str = parameter(
        "",
        'Arguments of gymnasium.make as JSON, e.g. {"is_slippery": false}.',
        x_group=_MAKE,
        x_options=True,
    )
    reset_options: str = parameter(
        "", "Options of each reset as JSON, where the environment takes some.", x_group=_MAKE
    )


HUMAN = Algorithm(
    id="human",
    title="A person",
    summary="A person acts by keys; each episode is recorded and can be replayed.",
    documentation=(
        "The environment is shown while you play it. Arrows and WASD act in most environments; the key map is part "
        "of the run's configuration and can be changed. Opposite keys cancel each other."
    ),
    parameters=parameter_schema(HumanParameters),
    action_spaces=["discrete", "multi_discrete", "box"],
    default_environment="CartPole-v1",
    tells=["play"],
    play=True,
    human=True,
    branches=True,
)


class HumanWorker(BaseWorker):
    """A person acts, or chance."""

    id, version, title = "play", VERSION, "Human play"
    summary = "A person plays Gymnasium environments; each play is a run like any other."
    algorithms, packages = (
        [HUMAN, RANDOM],
        ("gymnasium", "numpy", "ale-py", "Box2D", "mujoco", "minigrid"),
    )

    def __init__(self) -> None:
        self.environments = list_environments()

    def describe(self) -> WorkerDescription:
        """Return what a client needs to build its lists and forms."""
        described = super().describe()
        return described.model_copy(
            update={
                "environments": describe_environments(),
                "own_environments": True,
                "record_levels": [
                    level.value for level in RecordLevel if level is not RecordLevel.METRICS
                ],
            }
        )

    def train(self, context: TrainContext) -> None:
        """Refuse: nothing is trained here."""
        raise RunRefused("This worker plays; there is nothing to train.")

    def play(self, context: TrainContext) -> None:
        """Let a person act until the run is stopped, its episodes have ended, or nobody is there; or act randomly."""
        if context.spec.algorithm == RANDOM.id:
            play_randomly(context, self.arguments(context.spec, RandomParameters))
            return
        given = self.arguments(context.spec, HumanParameters)
        inputs: PersonInputs | None = None
        with EnvironmentRun(
            context,
            on_act=lambda one: NOT_BEGUN if inputs is None else inputs.take(one),
        ) as run:
            options = read_object(given.options, "options")
            prefix = EpisodePrefix.of(context)
            if prefix is None:
                env = run.make(context.spec.environment, **options)
            else:
                _require_same(options, prefix.environment)
                env = prefix.make(run)
            keymap, timing = _prepare(env, given, context.spec.pace)
            inputs = PersonInputs(keymap)
            controls = controls_of(env, keymap, timing)
            run.record_config(given, env, play=controls.model_dump(mode="json"))
            played = PersonalEnvironment(
                run, env, read_object(given.reset_options, "reset_options")
            )
            loop = PlayLoop(run, played, keymap, inputs, context.stop, timing)
            loop.play(
                _seeds(context.spec),
                episodes=context.spec.episodes or (None if prefix is None else 1),
                begin=None if prefix is None else lambda: prefix.rebuild(played),
            )
            env.close()

    def replay(self, context: TrainContext) -> None:
        """Rebuild the recorded episode that the run's spec names."""
        replay_run(context)

    def check_more(self, spec: RunSpec, arguments: Mapping[str, Any], findings: Findings) -> None:
        """Make the environment once; for a person, read the key map."""
        is_human = spec.algorithm == HUMAN.id
        if is_human and (refusal := _human_refusal(spec)):
            findings.block(*refusal, ProblemCode.SPEC_INVALID)
            return
        try:
            options = read_object(arguments["options"], "options")
            read_object(arguments["reset_options"], "reset_options")
            env = EnvironmentSpec(spec.environment, options).make()
            if is_human:
                _prepare(env, HumanParameters(**arguments), spec.pace)
            env.close()
        except KeyMapInvalid as error:
            findings.block("parameters.keys", f"{error}.", ProblemCode.PARAMETER_INVALID)
        except ObjectInvalid as error:
            findings.block("parameters.options", f"{error}.", ProblemCode.PARAMETER_INVALID)
        except EnvironmentUnusable as error:
            words = f"{error} {install_hint(spec.environment)}".strip()
            findings.block("environment", words, ProblemCode.ENVIRONMENT_UNKNOWN, error.nearest)

    def _check_environment(self, spec: RunSpec, findings: Findings) -> None:
        is_registered = spec.algorithm == RANDOM.id and spec.environment in gymnasium.registry
        if ":" not in spec.environment and not is_registered:
            super()._check_environment(spec, findings)

    def _modes(self) -> list[str]:
        return ["play", "evaluate", "replay", "human"]


def _seeds(spec: RunSpec) -> Iterator[int | None]:
    """Seeds of the episodes: of so many as were asked for each has the next one, so that they can be compared."""
    if spec.episodes is not None:
        return count(spec.seed)
    return chain([spec.seed], repeat(None))


def _human_refusal(spec: RunSpec) -> tuple[str, str] | None:
    """The field that a play by a person may not have so, and why; None: there is none."""
    if spec.kind is not RunKind.PLAY:
        return "kind", f"A person acts in runs of kind play, not {spec.kind.value}."
    if not spec.record.has_episodes:
        words = "A play is recorded at level episodes at the least: its frames belong to episodes."
        return "record", words
    return None


def _require_same(options: dict[str, Any], recorded: EnvironmentSpec) -> None:
    """Refuse arguments of the environment that are not those of the recorded one."""
    if options and options != dict(recorded.arguments):
        raise RunRefused(
            "A branch goes on in the recorded environment, which was made with "
            f"{json.dumps(dict(recorded.arguments))}. Leave the parameter `options` out."
        )


def _prepare(
    env: gymnasium.Env[Any, Any], given: HumanParameters, pace: float | None
) -> tuple[KeyMap, PlayTiming]:
    """Read the key map and the clock. Raises KeyMapInvalid or EnvironmentUnusable."""
    takes_turns = has_turns(env) if given.timing == "auto" else given.timing == "turns"
    rate = given.rate or own_rate(env)
    if pace is not None:
        rate = min(rate, pace)
    timing = PlayTiming(
        *(takes_turns, rate, rate),
        ramp_s=given.ramp_s,
        waits=given.wait_for_key,
        leave_s=given.leave_s,
    )
    return KeyMap(env, given.keys, given.idle, timing.ramp), timing
