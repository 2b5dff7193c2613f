"""Fields of a sweep besides its parameters: name, objectives, search, budget."""

from collections.abc import Iterable
from typing import Any

from mosaic_contracts.sweeps import (
    MAX_TRIALS,
    Budget,
    CurveValue,
    Direction,
    Objective,
    Pruner,
    PrunerName,
    RunsValue,
    Sampler,
    SamplerName,
)
from mosaic_gui.state.form_field import FieldKind, FormField, FormGroup, Value
from mosaic_gui.state.language import tr

PATHS = {
    "name": "name",
    "environments": "environments",
    "seeds": "seeds",
    "metric": "objectives.0.metric",
    "direction": "objectives.0.direction",
    "value": "objectives.0.value",
    "last": "objectives.0.last",
    "over_runs": "objectives.0.over_runs",
    "second_metric": "objectives.1.metric",
    "second_direction": "objectives.1.direction",
    "sampler": "sampler.name",
    "sampler_seed": "sampler.seed",
    "startup_trials": "sampler.startup_trials",
    "population": "sampler.population",
    "pruner": "pruner.name",
    "min_steps": "pruner.min_steps",
    "reduction": "pruner.reduction",
    "pruner_startup": "pruner.startup_trials",
    "trials": "budget.trials",
    "total_steps": "budget.steps",
    "hours": "budget.wall_time_s",
    "parallel": "parallel",
}
"""Path of each field in a SweepSpec."""
_OBJECTIVE, _SAMPLER, _PRUNER, _BUDGET = Objective(), Sampler(), Pruner(), Budget()


def setting_groups() -> tuple[FormGroup, ...]:
    """Groups of fields in their order."""
    return (
        FormGroup("what", _what()),
        FormGroup("objective", _objective()),
        FormGroup("search", _search()),
        FormGroup("budget", _budget()),
    )


def is_used(name: str, text: dict[str, str]) -> bool:
    """Whether a field has a meaning with what is chosen in others. `text`: the text of each field."""
    sampler, pruner = text["sampler"], text["pruner"]
    match name:
        case "last":
            return text["value"] == CurveValue.LAST
        case "second_direction":
            return bool(text["second_metric"].strip())
        case "startup_trials":
            return sampler in (SamplerName.TPE, SamplerName.CMA_ES)
        case "population":
            return sampler == SamplerName.NSGA2
        case "min_steps":
            return pruner != PrunerName.NONE
        case "reduction":
            return pruner in (PrunerName.ASHA, PrunerName.HYPERBAND)
        case "pruner_startup":
            return pruner == PrunerName.MEDIAN
    return True


def parse_seeds(text: str) -> list[int]:
    """Seeds of a text such as `1, 2, 5-8`. Raises ValueError: what is wrong with it."""
    found: list[int] = []
    for part in filter(None, (one.strip() for one in text.replace(";", ",").split(","))):
        first, dash, last = part.partition("-")
        if not first.strip().isdigit() or (dash and not last.strip().isdigit()):
            raise ValueError(tr("{seed} is no seed; write them as 1, 2, 5-8", seed=part))
        begin, end = int(first), int(last if dash else first)
        if end < begin or end - begin >= 1_000:
            raise ValueError(tr("{seeds} is no range of seeds", seeds=part))
        found += range(begin, end + 1)
    return list(dict.fromkeys(found))


def parse_names(text: str) -> list[str]:
    """Names that are separated by commas."""
    return list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


def settings_of(values: dict[str, Value], text: dict[str, str]) -> dict[str, Any]:
    """The part of a SweepSpec that these fields give. `values`: those that differ from their default."""
    used = {name: value for name, value in values.items() if is_used(name, text)}
    made: dict[str, Any] = {}
    for name, value in used.items():
        if name in ("environments", "seeds") or name.startswith("second_"):
            continue
        top, _, rest = PATHS[name].partition(".")
        if top == "objectives":
            continue
        if name == "hours" and isinstance(value, int | float):
            value = value * 3600
        if rest:
            made.setdefault(top, {})[rest] = value
        else:
            made[top] = value
    made["objectives"] = _objectives_of(used, text)
    if names := parse_names(text["environments"]):
        made["environments"] = names
    if text["seeds"].strip():
        made["seeds"] = parse_seeds(text["seeds"])
    return made


def texts_of(spec: dict[str, Any]) -> dict[str, str]:
    """Texts of the fields for a SweepSpec, as plain data. What is absent has its default."""
    found: dict[str, str] = {}
    for name, path in PATHS.items():
        value = _at(spec, path.split("."))
        if value is None:
            continue
        if isinstance(value, list):
            found[name] = ", ".join(map(str, value))
        elif name == "hours":
            found[name] = f"{float(value) / 3600:g}"
        else:
            found[name] = str(value)
    return found


def _at(data: Any, path: Iterable[str]) -> Any:
    for key in path:
        if isinstance(data, list):
            data = data[int(key)] if int(key) < len(data) else None
        else:
            data = data.get(key) if isinstance(data, dict) else None
    return data


def _objectives_of(values: dict[str, Value], text: dict[str, str]) -> list[dict[str, Any]]:
    fields = ("metric", "direction", "value", "last", "over_runs")
    first: dict[str, Any] = {name: values[name] for name in fields if name in values}
    if not text["second_metric"].strip():
        return [first]
    shared: dict[str, Any] = {
        name: first[name] for name in ("value", "last", "over_runs") if name in first
    }
    second: dict[str, Any] = {
        "metric": text["second_metric"].strip(),
        "direction": text["second_direction"],
    }
    return [first, {**second, **shared}]


def _what() -> tuple[FormField, ...]:
    return (
        FormField(
            "name",
            tr("name"),
            FieldKind.TEXT,
            nullable=True,
            help=tr("Empty: made from algorithm and environment. Names of its runs begin with it."),
        ),
        FormField(
            "seeds",
            tr("seeds"),
            FieldKind.TEXT,
            default="",
            placeholder="1-3",
            help=tr(
                "Each trial runs once for each seed, as 1, 2, 5-8. Empty: the seed of the form."
            ),
        ),
        FormField(
            "environments",
            tr("environments"),
            FieldKind.TEXT,
            default="",
            help=tr(
                "Each trial runs in each of them, separated by commas. Empty: the environment of the form."
            ),
        ),
    )


def _objective() -> tuple[FormField, ...]:
    return (
        FormField(
            "metric",
            tr("metric"),
            FieldKind.TEXT,
            default=_OBJECTIVE.metric,
            help=tr("Name of the curve that is optimised."),
        ),
        _choice(
            "direction",
            tr("direction"),
            Direction,
            tr("Whether a greater or a smaller value is better."),
        ),
        _choice(
            "value",
            tr("value of a curve"),
            CurveValue,
            tr("last: mean of the last points. best: the best point. area: mean over all steps."),
        ),
        FormField(
            "last",
            tr("last points"),
            FieldKind.INTEGER,
            default=_OBJECTIVE.last,
            minimum=1,
            maximum=100_000,
            help=tr("Number of points that are averaged."),
        ),
        _choice(
            "over_runs",
            tr("over runs"),
            RunsValue,
            tr(
                "How the values of several seeds and environments become one. iqm: mean of the middle half."
            ),
        ),
        FormField(
            "second_metric",
            tr("second metric"),
            FieldKind.TEXT,
            default="",
            help=tr("A second objective, for which the Pareto front is searched. Empty: none."),
        ),
        _choice("second_direction", tr("its direction"), Direction, ""),
    )


def _search() -> tuple[FormField, ...]:
    return (
        _choice(
            "sampler",
            tr("sampler"),
            SamplerName,
            tr(
                "How parameters are chosen. tpe and cmaes learn from results; nsga2 is for two objectives."
            ),
        ),
        _number(
            "startup_trials",
            tr("random trials"),
            _SAMPLER.startup_trials,
            1,
            MAX_TRIALS,
            tr("Trials before it learns from results."),
        ),
        _number(
            "population",
            tr("population"),
            _SAMPLER.population,
            2,
            1_000,
            tr("Trials in a generation."),
        ),
        _number(
            "sampler_seed",
            tr("sampler's seed"),
            None,
            0,
            2**32 - 1,
            tr("Empty: another one at each sweep."),
        ),
        _choice(
            "pruner",
            tr("pruner"),
            PrunerName,
            tr("Stops trials early that are worse than others at equal steps."),
        ),
        _number(
            "min_steps",
            tr("first steps"),
            None,
            1,
            2**53,
            tr("Steps before a trial can be pruned. Empty: a tenth of its steps."),
        ),
        _number(
            "reduction",
            tr("reduction"),
            _PRUNER.reduction,
            2,
            100,
            tr("One in this many trials goes on at each rung."),
        ),
        _number(
            "pruner_startup",
            tr("first trials"),
            _PRUNER.startup_trials,
            0,
            MAX_TRIALS,
            tr("Trials that must have ended before one is pruned."),
        ),
    )


def _budget() -> tuple[FormField, ...]:
    return (
        _number(
            "trials",
            tr("trials"),
            _BUDGET.trials,
            1,
            MAX_TRIALS,
            tr("Number of trials, pruned and failed ones included."),
        ),
        _number(
            "parallel",
            tr("at once"),
            2,
            1,
            256,
            tr("Trials at once. Each waits in the queue for cores and GPUs like any run."),
        ),
        _number(
            "total_steps",
            tr("steps in all"),
            None,
            1,
            2**62,
            tr("Environment steps after which no further trial starts. Empty: no limit."),
        ),
        FormField(
            "hours",
            tr("time limit"),
            FieldKind.NUMBER,
            nullable=True,
            unit=tr("hours"),
            above=0,
            help=tr("Time after which no further trial starts. Empty: no limit."),
        ),
    )


def _choice(name: str, label: str, words: type[Any], help_text: str) -> FormField:
    values = tuple(one.value for one in words)
    return FormField(
        name, label, FieldKind.CHOICE, default=values[0], choices=values, help=help_text
    )


def _number(
    name: str, label: str, default: int | None, least: int, most: int, help_text: str
) -> FormField:
    return FormField(
        name,
        label,
        FieldKind.INTEGER,
        default=default,
        nullable=default is None,
        minimum=least,
        maximum=most,
        help=help_text,
    )
