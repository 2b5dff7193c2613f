"""Preview of a launch, for a user who looks at a run before it is started."""

from collections.abc import Sequence

from pydantic import SecretStr

from mosaic_contracts.gpus import GpuGrant
from mosaic_contracts.preflight import PlacementPlan
from mosaic_contracts.spec import RunSpec
from mosaic_scheduler.executors.access import XmppLogin
from mosaic_scheduler.executors.protocol import AttemptRef, LaunchSpec
from mosaic_scheduler.executors.run_folder import RunFolder
from mosaic_scheduler.proxy import Proxies
from mosaic_scheduler.size_text import mib_text, size_text

RUN = "RUN"
"""Placeholder for the id that the run will get."""
_LEASED = "UUID-of-its-lease"
_TALKS = XmppLogin(host="", port=0, domain="", certificate="")


def preview_launch(
    spec: RunSpec,
    python: str,
    command: list[str],
    image: str | None,
    *,
    image_python: str = "",
    image_command: Sequence[str] = (),
    talks: bool,
    proxies: Proxies,
) -> LaunchSpec:
    """A launch spec without anything that only a run has: id, lease, credentials, values of secrets.

    `proxies`: of this run.
    """
    grant = None
    if spec.gpus:
        devices = [_LEASED] * spec.gpus
        grant = GpuGrant(token=RUN, devices=devices, memory_mb=spec.gpu_memory_mb)
    return LaunchSpec(
        ref=AttemptRef(RUN, 1),
        spec=spec,
        nonce="",
        python=python,
        worker_command=command,
        broker_url="",
        write_creds=None,
        secrets={name: SecretStr("") for name in secrets_of(spec, proxies)},
        environment=proxies.variables(),
        xmpp=_TALKS if talks else None,
        grant=grant,
        image=image,
        image_python=image_python,
        image_command=image_command,
    )


def secrets_of(spec: RunSpec, proxies: Proxies) -> list[str]:
    """Names of what the run is given as secrets: what it asks for, and the stack's proxies that are some."""
    return list(dict.fromkeys([*spec.secrets, *proxies.secrets()]))


def plan_of(
    launch_spec: LaunchSpec, folder: RunFolder, executor: str, mounts: list[str], network: str
) -> PlacementPlan:
    """The plan by what the runner would read."""
    launch = folder.launch_of(launch_spec)
    return PlacementPlan(
        placement=executor,
        command=launch.worker_argv,
        environment=launch.env,
        mounts=mounts,
        devices=_devices(launch_spec.spec),
        network=network,
        limits=_limits(launch_spec.spec),
    )


def _devices(spec: RunSpec) -> str:
    if not spec.gpus:
        return "none: it sees no GPU"
    noun = "GPU" if spec.gpus == 1 else "GPUs"
    shared = f", {mib_text(spec.gpu_memory_mb)} reserved on each" if spec.gpu_memory_mb else ""
    return f"{spec.gpus} {noun}, chosen at the start{shared}"


def _limits(spec: RunSpec) -> list[str]:
    noun = "core" if spec.cpus == 1 else "cores"
    limits = [f"{spec.cpus} {noun}", f"{spec.grace_s:g} s between the request to stop and SIGKILL"]
    if spec.wall_time_s is not None:
        limits.append(f"stopped after {spec.wall_time_s:g} s")
    limits.append(f"{size_text(spec.outbox_bytes)} for events that are not stored yet")
    return limits
