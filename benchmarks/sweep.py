"""What a sweep finds: a learning rate of PPO on CartPole-v1 in 40 short trials, against the default.

    ./mosaic sync --dev tests worker_cleanrl worker_sweep
    var/venvs/tests/bin/python benchmarks/sweep.py [--trials 40] [--steps 2000] [--kills]

A sweep searches `learning_rate` with TPE and ASHA, two trials at once, all with seed 1. Then the default and the best
trial are trained with five seeds that the search has not seen. A run's value is the mean return of its last 20
episodes; IQM over the seeds, with each value. With `--kills` the scheduler, the sweep's own process and the broker are
killed with -9 during the search. Then there must be each trial once, and one run of each. Prints JSON.
"""

import argparse
import json
import statistics
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from warm_stack import VENVS, WarmStack, warm_stack

from mosaic_client import MosaicProblem, StackUnreachable
from mosaic_contracts.sweeps import SweepSpec, SweepView, TrialRecord

FRESH_SEEDS = (101, 102, 103, 104, 105)
METRIC, LAST = "charts/episodic_return", 20
WITHIN_S = 3_600


def sweep_of(trials: int, steps: int) -> SweepSpec:
    """What is searched."""
    return SweepSpec.model_validate(
        {
            "run": {
                "worker": "cleanrl",
                "algorithm": "ppo",
                "environment": "CartPole-v1",
                "steps": steps,
                "record": "metrics",
            },
            "parameters": {
                "learning_rate": {"type": "float", "low": 1e-5, "high": 1e-1, "log": True}
            },
            "objectives": [{"metric": METRIC, "last": LAST}],
            "sampler": {"name": "tpe", "seed": 1},
            "pruner": {"name": "asha", "min_steps": steps // 2, "reduction": 2},
            "budget": {"trials": trials},
            "parallel": 2,
        }
    )


def require(is_so: bool, what: object) -> None:
    """End the benchmark where something is not as promised."""
    if not is_so:
        raise AssertionError(what)


def answer(ask: Callable[[], Any]) -> Any:
    """The stack's answer, after a service that was killed is back."""
    end = time.monotonic() + 120
    while True:
        try:
            return ask()
        except (StackUnreachable, MosaicProblem):
            if time.monotonic() > end:
                raise
            time.sleep(1)  # what is killed comes back; nobody announces it here


def search(warm: WarmStack, spec: SweepSpec, kills: bool) -> tuple[str, list[str]]:
    """Sweep to the end. Return the id of its run, and what was killed."""
    todo = ["scheduler", "sweep", "broker"] if kills else []
    part = spec.budget.trials // (len(todo) + 1)
    killed: list[str] = []
    end = time.monotonic() + WITHIN_S
    with warm.client() as client:
        sweep_id = client.start_sweep(spec).run_id
        while time.monotonic() < end:
            view: SweepView = answer(lambda: client.sweep(sweep_id))
            over = sum(count for state, count in view.counts.items() if state.is_final)
            if todo and over >= part * (len(killed) + 1):
                victim = todo.pop(0)
                if victim == "sweep":
                    warm.kill_run_part(sweep_id, "worker")  # it goes on in its folder
                else:
                    warm.kill_service(victim)
                killed.append(f"{victim} after {over} trials")
            run = answer(lambda: client.run(sweep_id))
            if run.state.is_final:
                require(run.state == "succeeded", run.end)
                return sweep_id, killed
            time.sleep(2)
    raise TimeoutError(f"sweep {sweep_id} goes on")


def value_of(warm: WarmStack, run_id: str) -> float:
    """Mean of the last returns of a run."""
    with warm.client() as client:
        return statistics.fmean(client.series(run_id, METRIC).values[-LAST:])


def trained(warm: WarmStack, steps: int, **parameters: float) -> list[float]:
    """Values of runs with fresh seeds."""
    runs = [
        warm.submit(
            "cleanrl",
            "ppo",
            "CartPole-v1",
            steps=steps,
            seed=seed,
            record="metrics",
            parameters=parameters,
        ).run_id
        for seed in FRESH_SEEDS
    ]
    for run_id in runs:
        require(warm.wait_final(run_id, 900).state == "succeeded", run_id)
    return [value_of(warm, run_id) for run_id in runs]


def iqm(values: list[float]) -> float:
    """Mean of the middle half."""
    cut = len(values) // 4
    return statistics.fmean(sorted(values)[cut : len(values) - cut])


def trials_of(warm: WarmStack, sweep_id: str) -> list[TrialRecord]:
    """Last records of all trials."""
    with warm.client() as client:
        return list(client.trials(sweep_id, limit=2_000).trials)


def main() -> None:
    """Print one object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=40)
    parser.add_argument("--steps", type=int, default=2_000)
    parser.add_argument("--kills", action="store_true")
    options = parser.parse_args()
    require((VENVS / "worker_sweep").exists(), "./mosaic sync worker_sweep")
    with warm_stack() as warm:
        began = time.monotonic()
        sweep_id, killed = search(warm, sweep_of(options.trials, options.steps), options.kills)
        took_s = time.monotonic() - began
        trials = trials_of(warm, sweep_id)
        numbers = sorted(trial.number for trial in trials)
        require(numbers == list(range(options.trials)), numbers)
        runs = [run_id for trial in trials for run_id in trial.runs.values()]
        require(len(set(runs)) == len(runs) == options.trials, runs)
        with warm.client() as client:
            best = client.best_of_sweep(sweep_id).parameters
        found = trained(warm, options.steps, learning_rate=float(str(best["learning_rate"])))
        default = trained(warm, options.steps)
        print(
            json.dumps(
                {
                    "trials": dict(Counter(trial.state.value for trial in trials)),
                    "took_s": round(took_s),
                    "steps": sum(trial.steps for trial in trials),
                    "killed": killed,
                    "best": best,
                    "iqm_best": round(iqm(found), 1),
                    "iqm_default": round(iqm(default), 1),
                    "values_best": [round(value, 1) for value in found],
                    "values_default": [round(value, 1) for value in default],
                }
            )
        )


if __name__ == "__main__":
    main()
