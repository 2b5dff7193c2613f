"""What a search of the run list looks at, read from the window's own runs."""

from mosaic_contracts.run_search import RunFacts, StoredFacts
from mosaic_contracts.runs import RunView
from mosaic_contracts.states import shown_state
from mosaic_gui.state.run_columns import parameters_of

_NOTHING = StoredFacts()


def run_facts(run: RunView) -> RunFacts:
    """Return what `mosaic_contracts.run_search.facts_of` returns, without making JSON of the run."""
    spec = run.spec
    group = run.group
    words = f"{group.group_id} {group.name}" if group is not None else ""
    if group is None and run.trial is not None:
        words = spec.parent or ""
    return RunFacts(
        run_id=run.run_id,
        state=shown_state(run.state, run.started_at).value,
        worker=spec.worker,
        algorithm=spec.algorithm,
        environment=spec.environment,
        kind=spec.kind.value,
        name=run.name,
        note=run.note,
        tags=tuple(run.tags),
        seed=spec.seed,
        parent=spec.parent or "",
        group=words,
        cause="" if run.end is None else run.end.cause.value,
        record=spec.record.value,
        priority=run.priority,
        cpus=spec.cpus,
        gpus=spec.gpus,
        created_t=run.created_at.timestamp(),
        took_s=run.elapsed_s,
        parameters=parameters_of(run),
    )


def stored_facts(run: RunView) -> StoredFacts:
    """Returns, steps and episodes as the store has them."""
    known = run.summary
    if known is None:
        return _NOTHING
    return StoredFacts(
        known.global_step, known.episodes, known.last_return, known.best_return, known.mean_return
    )
