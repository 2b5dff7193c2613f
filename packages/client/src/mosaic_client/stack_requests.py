"""A method for each request of the HTTP interface, for the client of scripts and notebooks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from mosaic_client.call import Call
from mosaic_client.calls import alerts as alert_calls
from mosaic_client.calls import archives as archive_calls
from mosaic_client.calls import checkpoints as checkpoint_calls
from mosaic_client.calls import dashboards as dashboard_calls
from mosaic_client.calls import groups as group_calls
from mosaic_client.calls import replays as replay_calls
from mosaic_client.calls import runs as run_calls
from mosaic_client.calls import stack as stack_calls
from mosaic_client.calls import storage as storage_calls
from mosaic_client.calls import sweeps as sweep_calls
from mosaic_client.calls import syncs as sync_calls
from mosaic_client.calls import telemetry as telemetry_calls
from mosaic_client.method import named_like
from mosaic_client.stack_connection import StackConnection

if TYPE_CHECKING:
    pass

P = ParamSpec("P")
T = TypeVar("T")


def sent(
    describe: Callable[P, Call[T]],
) -> Callable[Concatenate[StackRequests, P], T]:
    """The method that sends the request which `describe` describes, with its signature and docstring."""

    def method(self: StackRequests, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.send(describe(*args, **kwargs))

    return named_like(method, describe)


class StackRequests(StackConnection):
    """Sends each request by a method of its name."""

    ready = sent(stack_calls.ready)
    stack = sent(stack_calls.stack)
    prometheus = sent(stack_calls.prometheus)
    workers = sent(stack_calls.workers)
    worker = sent(stack_calls.worker)
    machine = sent(stack_calls.machine)
    gpus = sent(stack_calls.gpus)
    secrets = sent(stack_calls.secrets)
    set_secret = sent(stack_calls.set_secret)
    delete_secret = sent(stack_calls.delete_secret)
    ticket = sent(stack_calls.ticket)

    submit = sent(run_calls.submit)
    check = sent(run_calls.check)
    preflight = sent(run_calls.preflight)
    runs = sent(run_calls.runs)
    run = sent(run_calls.run)
    queue = sent(run_calls.queue)
    patch = sent(run_calls.patch)
    move = sent(run_calls.move)
    stop = sent(run_calls.stop)
    retry = sent(run_calls.retry)
    resume = sent(run_calls.resume)
    clone = sent(run_calls.clone)
    play = sent(run_calls.play)
    fork = sent(run_calls.fork)
    delete = sent(run_calls.delete)
    deletion = sent(run_calls.deletion)
    restore = sent(run_calls.restore)
    replay = sent(replay_calls.replay)
    replays = sent(replay_calls.replays)
    episode_frames = sent(replay_calls.episode_frames)
    free = sent(archive_calls.free)

    start_group = sent(group_calls.start_group)
    check_group = sent(group_calls.check_group)
    groups = sent(group_calls.groups)
    group = sent(group_calls.group)
    stop_group = sent(group_calls.stop_group)
    retry_group = sent(group_calls.retry_group)
    delete_group = sent(group_calls.delete_group)
    restore_group = sent(group_calls.restore_group)

    start_sweep = sent(sweep_calls.start_sweep)
    check_sweep = sent(sweep_calls.check_sweep)
    sweep = sent(sweep_calls.sweep)
    trials = sent(sweep_calls.trials)
    best_of_sweep = sent(sweep_calls.best_of_sweep)
    stop_sweep = sent(sweep_calls.stop_sweep)
    resume_sweep = sent(sweep_calls.resume_sweep)

    open_tensorboard = sent(dashboard_calls.open_tensorboard)
    tensorboards = sent(dashboard_calls.tensorboards)
    tensorboard_entry = sent(dashboard_calls.tensorboard_entry)

    plan_sync = sent(sync_calls.plan_sync)
    sync = sent(sync_calls.sync)
    syncs = sent(sync_calls.syncs)

    storage = sent(storage_calls.storage)
    plan_prune = sent(storage_calls.plan_prune)
    prune = sent(storage_calls.prune)
    undo_prune = sent(storage_calls.undo_prune)
    storage_profiles = sent(storage_calls.storage_profiles)

    alerts = sent(alert_calls.alerts)
    add_alert_rule = sent(alert_calls.add_alert_rule)
    remove_alert_rule = sent(alert_calls.remove_alert_rule)
    restore_alert_rule = sent(alert_calls.restore_alert_rule)
    test_alert = sent(alert_calls.test_alert)
    set_alert_target = sent(alert_calls.set_alert_target)
    delete_alert_target = sent(alert_calls.delete_alert_target)
    test_alert_target = sent(alert_calls.test_alert_target)

    checkpoints = sent(checkpoint_calls.checkpoints)
    verify_checkpoints = sent(checkpoint_calls.verify_checkpoints)
    metrics = sent(telemetry_calls.metrics)
    known_metrics = sent(telemetry_calls.known_metrics)
    metric_figures = sent(telemetry_calls.metric_figures)
    media = sent(telemetry_calls.media)
    media_values = sent(telemetry_calls.media_values)
    curve = sent(telemetry_calls.curve)
    episodes = sent(telemetry_calls.episodes)
    steps = sent(telemetry_calls.steps)
    events = sent(telemetry_calls.events)
    batches = sent(telemetry_calls.batches)
    log = sent(telemetry_calls.log)
    log_tail = sent(telemetry_calls.log_tail)
    artifacts = sent(telemetry_calls.artifacts)
    manifest = sent(telemetry_calls.manifest)
    quarantine = sent(telemetry_calls.quarantine)
