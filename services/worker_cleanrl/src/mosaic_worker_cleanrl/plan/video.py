"""Videos while training (`capture_video`): whether they can be made, and how."""

from mosaic_contracts.problems import ProblemCode
from mosaic_contracts.spec import RunSpec
from mosaic_gymkit.clips import clips_problem, clips_warning
from mosaic_worker_cleanrl.environment.extras import VIDEO
from mosaic_worker_cleanrl.environment.rendering import find_renderer
from mosaic_worker_cleanrl.plan.draft import ScriptPlan

CAPTURE = "capture_video"
_WHERE = f"parameters.{CAPTURE}"


_CLIPS = "clip_every"


def check_clips(spec: RunSpec, plan: ScriptPlan) -> None:
    """Refuse clips that could not be made, and say what they cost."""
    probe = plan.probe
    if spec.clip_every is None or probe is None:
        return
    if clips_problem():
        plan.block(
            _CLIPS,
            f"Clips need {VIDEO.title}, which is not installed here. Run {VIDEO.install_command} and ask again, or "
            "leave `clip_every` out: recorded at `replay` (the default) every episode can be rebuilt and exported.",
            ProblemCode.WORKER_NOT_READY,
        )
    elif not spec.record.has_episodes:
        plan.block(
            _CLIPS,
            "Clips need the recording level `episodes` or above.",
            ProblemCode.PARAMETER_INVALID,
        )
    elif "rgb_array" not in probe.render_modes:
        plan.block(_CLIPS, f"{probe.id} makes no pictures.", ProblemCode.PARAMETER_INVALID)
    else:
        problem = find_renderer(probe.id).problem
        if problem:
            plan.block(
                _CLIPS,
                f"No picture of {probe.id} can be made here: {problem}.",
                ProblemCode.WORKER_NOT_READY,
            )
        else:
            plan.warn(_CLIPS, clips_warning(spec.clip_every))


def check_video(plan: ScriptPlan) -> None:
    """Refuse videos that could not be made: the script would fail at the first one, or at its end."""
    probe = plan.probe
    if not plan.arguments.get(CAPTURE) or probe is None:
        return
    if not VIDEO.is_installed:
        plan.block(
            _WHERE,
            f"Videos need {VIDEO.title}, which is not installed here. Run {VIDEO.install_command} and ask again, or "
            "leave `capture_video` off: recorded at `replay` (the default) every episode can be rebuilt.",
            ProblemCode.WORKER_NOT_READY,
        )
    elif "rgb_array" not in probe.render_modes:
        plan.block(_WHERE, f"{probe.id} makes no pictures.", ProblemCode.PARAMETER_INVALID)
    else:
        renderer = find_renderer(probe.id)
        plan.gl = renderer.gl
        if renderer.problem:
            plan.block(
                _WHERE,
                f"No picture of {probe.id} can be made here: {renderer.problem}. Or leave `capture_video` off.",
                ProblemCode.WORKER_NOT_READY,
            )
        elif probe.form == "atari":
            plan.warn(
                _WHERE,
                "The frames of a game that is filmed stay in memory until it ends, 0.1 MB each: a long one of 10,000 "
                "takes 1 GB in addition to what the training needs.",
            )
