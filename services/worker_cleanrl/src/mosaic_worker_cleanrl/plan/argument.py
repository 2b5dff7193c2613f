"""The parameters a person gives, and the script's command line that they make."""

import argparse
from collections.abc import Iterator

from mosaic_contracts.problems import ProblemCode
from mosaic_contracts.spec import ParameterValue, RunSpec
from mosaic_worker_cleanrl.description import ENVIRONMENT, SEED, STEPS
from mosaic_worker_cleanrl.errors import ArgumentsRefused
from mosaic_worker_cleanrl.plan.draft import ScriptPlan
from mosaic_worker_cleanrl.schema.document import (
    CHECKPOINT,
    SAMPLED,
    TENSORBOARD,
    flag_of,
    is_list,
    is_switch,
    parameter_schema,
)
from mosaic_worker_cleanrl.schema.extraction import read_arguments
from mosaic_worker_cleanrl.schema.tracking import TRACKING_PARAMETERS
from mosaic_workerkit.parameters import check_parameters

_OWNED = {
    SEED: "The seed is a field of the run (`seed`), not a parameter.",
    ENVIRONMENT: "The environment is a field of the run (`environment`), not a parameter.",
}
_OF_PLAYS = {
    SAMPLED: "sampled is for runs of kind play or evaluate: `./mosaic play RUN`, `./mosaic evaluate RUN`."
}
_OWN = frozenset({TENSORBOARD, CHECKPOINT, SAMPLED, *TRACKING_PARAMETERS})
_REFUSED_SWITCHES = {
    "save_model": "MOSAIC writes checkpoints itself, while training and at the end. The script's own saving also "
    "runs an evaluation with video; leave `save_model` off.",
    "upload_model": "Upload of models to Hugging Face is not offered: it would use the token of an account, which no "
    "consent of a run covers. Fetch a checkpoint (`./mosaic artifacts`, `./mosaic download`), upload that, and leave "
    "`upload_model` off.",
}


def given_parameters(spec: RunSpec, plan: ScriptPlan) -> dict[str, ParameterValue]:
    """Return the parameters that a person set and that are right; `learning-rate` is `learning_rate`."""
    if plan.path is None:
        return {}
    given = check_parameters(
        spec.parameters,
        parameter_schema(plan.path),
        plan,
        algorithm=spec.algorithm,
        refused=_OWNED,
    )
    _check_meaning(spec, given, plan)
    return given


def _check_meaning(spec: RunSpec, given: dict[str, ParameterValue], plan: ScriptPlan) -> None:
    for name, why in (_REFUSED_SWITCHES | _OF_PLAYS).items():
        if given.get(name):
            plan.block(f"parameters.{name}", why, ProblemCode.PARAMETER_INVALID)
    if STEPS in given and spec.steps is not None:
        plan.block(
            f"parameters.{STEPS}",
            f"The length of the run is given twice: steps {spec.steps} and {STEPS} {given[STEPS]}. Keep one.",
            ProblemCode.PARAMETER_INVALID,
        )
    if given.get("cuda") is True and spec.gpus == 0:
        plan.warn(
            "parameters.cuda", "The run asks for no GPU, so it sees none and trains on the CPU."
        )


def fill_arguments(spec: RunSpec, given: dict[str, ParameterValue], plan: ScriptPlan) -> None:
    """Write the command line and have the script's own parser read it."""
    if plan.path is None:
        return
    source = read_arguments(plan.path)
    chosen: dict[str, ParameterValue] = {ENVIRONMENT: spec.environment, SEED: spec.seed}
    if spec.steps is not None:
        chosen[STEPS] = spec.steps
    chosen |= {name: value for name, value in given.items() if name not in _OWN}
    plan.argv = list(_command_line(chosen, {one.dest: one for one in source.actions}))
    try:
        plan.arguments = source.parse(plan.argv)
    except ArgumentsRefused as error:
        plan.block("parameters", str(error), ProblemCode.PARAMETER_INVALID)
        return
    plan.arguments[TENSORBOARD] = given.get(TENSORBOARD, True)
    _check_together(plan)


def _command_line(
    chosen: dict[str, ParameterValue], actions: dict[str, argparse.Action]
) -> Iterator[str]:
    """Write every chosen value out, False too: a switch that is on by default is turned off in no other way."""
    for name, value in chosen.items():
        if value is None:  # the default of every argument that can be None
            continue
        flag = flag_of(actions[name])
        if is_switch(actions[name]):
            yield flag if value else f"--no-{flag.removeprefix('--')}"
        elif is_list(actions[name]):
            yield from (flag, *str(value).split())
        else:
            yield f"{flag}={value}"


def _check_together(plan: ScriptPlan) -> None:
    """Values that are right alone and wrong together: the script would fail at them in the middle of its training."""
    arguments = plan.arguments
    size = arguments.get("minibatch_size")
    # The advantages of a minibatch of one have no spread: divided by it they are NaN, and so is all that follows.
    least = 2 if arguments.get("norm_adv") else 1
    if size is not None and size < least:
        plan.block(
            "parameters.num_minibatches",
            f"A batch of {arguments['batch_size']} steps in {arguments['num_minibatches']} minibatches leaves {size} "
            f"a minibatch; it needs {least} or more. Take {arguments['batch_size'] // least} minibatches at most.",
            ProblemCode.PARAMETER_INVALID,
        )
    if plan.script is not None and plan.script.whole_games:
        games, parts = arguments["num_envs"], arguments["num_minibatches"]
        if games % parts:
            plan.block(
                "parameters.num_minibatches",
                f"{plan.script.title} parts its {games} games among its minibatches: {parts} must divide them.",
                ProblemCode.PARAMETER_INVALID,
            )
    if "v_min" in arguments and arguments["v_min"] >= arguments["v_max"]:
        plan.block(
            "parameters.v_min",
            f"v_min {arguments['v_min']} must be less than v_max {arguments['v_max']}: the atoms lie between them.",
            ProblemCode.PARAMETER_INVALID,
        )
