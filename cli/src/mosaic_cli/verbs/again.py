"""`retry`, `resume`, `clone`: a new run from an earlier one."""

from typing import Annotated

import typer

from mosaic_cli import option
from mosaic_cli.errors import ValueRefused
from mosaic_cli.output import emit, out, say
from mosaic_cli.reference import did_you_mean, find_run
from mosaic_cli.spec_options import SpecOptions
from mosaic_cli.target import open_client
from mosaic_cli.verbs.following import accompany
from mosaic_client import light


def retry(
    run: option.Run,
    stopped: Annotated[
        bool,
        typer.Option("--stopped", help="With a group: start those again, too, that were stopped."),
    ] = False,
    detach: option.Detach = False,
    json: option.Json = False,
) -> None:
    """Start a new run with the spec of an earlier one, which becomes its parent, and follow it.

    With a group, every run that failed is started again. Where none has failed, nothing is started.
    """
    from mosaic_cli.grouping import find_run_or_group, follow_group
    from mosaic_client.errors import RunEnded, RunLive

    with open_client() as client:
        view = find_run_or_group(client, run)
        if isinstance(view, light.GroupFields):
            try:
                group = client.retry_group(view.group_id, cancelled=stopped)
            except (RunEnded, RunLive) as nothing:  # no run of it has failed
                say(f"Nothing was started. {nothing}")
                if json:
                    emit(view)
                return
            if not detach:
                follow_group(client, group, json)
            emit(group) if json else out.print(group.group_id)
            return
        accompany(client, client.retry(view.run_id), detach, json)


def resume(run: option.Run, detach: option.Detach = False, json: option.Json = False) -> None:
    """Start a new run from the newest checkpoint of an ended one, with the remaining steps, and follow it."""
    with open_client() as client:
        view = find_run(client, run)
        accompany(client, client.resume(view.run_id), detach, json)


def clone(
    run: option.Run,
    options: SpecOptions,
    environment: Annotated[
        str | None, typer.Option("--environment", "-e", help="Another environment.")
    ] = None,
    algorithm: Annotated[
        str | None, typer.Option("--algorithm", "-a", help="Another algorithm.")
    ] = None,
    detach: option.Detach = False,
    json: option.Json = False,
) -> None:
    """Start a copy of an earlier run with changed options, and follow it.

    Parameters are merged by name; `-p name=null` removes one.
    """
    from mosaic_contracts.spec import RunSpec

    named = {"environment": environment, "algorithm": algorithm}
    overrides = {key: value for key, value in named.items() if value} | options.fields()
    for name in overrides:
        if name not in RunSpec.model_fields:
            hint = did_you_mean(name, RunSpec.model_fields)
            raise ValueRefused(f"{name}: there is no such field. {hint}")
    with open_client() as client:
        view = find_run(client, run)
        accompany(client, client.clone(view.run_id, **overrides), detach, json)
