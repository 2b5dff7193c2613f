"""Whether this stack can give a run what it asks for: cores, memory, internet, GPUs."""

from mosaic_contracts.problems import ProblemCode
from mosaic_contracts.spec import RunKind, RunSpec
from mosaic_contracts.worker import DeviceNeed, WorkerDescription, WorkerManifest
from mosaic_scheduler.admission.check import AS_IT_IS, Check, passed, warned, wrong
from mosaic_scheduler.admission.context import Context
from mosaic_scheduler.executors.protocol import Bounds, Internet
from mosaic_scheduler.gpus.offer import Devices
from mosaic_scheduler.gpus.stock import GpuStock
from mosaic_scheduler.queue.outside import OUTSIDE, is_outside_queue
from mosaic_scheduler.queue.plan import QueueEntry, queue_places
from mosaic_scheduler.size_text import mib_text

_MEMORY_OPEN = (
    "only runs in containers, and jobs of a cluster with task/cgroup, are held to `memory_mb`"
)


def check_cores(context: Context) -> list[Check]:
    """Whether the run would start at once; more cores than there are is a wrong field."""
    if is_outside_queue(context.spec):
        return [_check_turn(context.spec.kind, context.outside.get(context.spec.kind, 0))]
    cpus, limit = context.spec.cpus, context.inventory.cpus
    if context.bounds.queues:
        message = f"Needs {cpus}; the cluster's queue gives them, and its largest node has {limit}."
        return [passed("cpus", message)]
    free = limit - context.cpus_in_use
    if cpus <= free:
        return [passed("cpus", f"Needs {cpus}; {free} of {limit} are free.")]
    message = f"It would wait: it needs {cpus} cores, {max(free, 0)} of {limit} are free."
    return [warned("cpus", message, "Wait, or stop a run that holds them (`./mosaic ps`).")]


def _check_turn(kind: RunKind, running: int) -> Check:
    """Whether a run that waits for no core would start at once."""
    most = OUTSIDE[kind]
    if running < most:
        return passed("cpus", f"Waits for no core; {running} of {most} such runs are under way.")
    message = f"It would wait: {running} runs of kind {kind} are under way, {most} at once."
    return warned("cpus", message, f"Wait, or stop one of them (`./mosaic ps --kind {kind}`).")


def check_memory(context: Context) -> list[Check]:
    """Whether the machine has so much memory, and whether the run is held to its limit."""
    asked_mb, machine_mb = context.spec.memory_mb, context.machine_mb
    if asked_mb is None and context.bounds.queues:
        message = "No `memory_mb`: the run gets what the cluster gives a job by default, and is ended beyond that."
        return [warned("memory", message, "Ask for as much as it needs (`memory_mb`).")]
    if asked_mb is None:
        return [passed("memory", f"No limit; this machine has {mib_text(machine_mb)}.")]
    if asked_mb > machine_mb:
        message = f"is {mib_text(asked_mb)}; {context.stock.where} has {mib_text(machine_mb)}: at most {machine_mb}"
        return [wrong("memory_mb", message, ProblemCode.RESOURCES_IMPOSSIBLE)]
    if not context.bounds.memory:
        return [warned("memory", f"Not enforced: {_MEMORY_OPEN}.", AS_IT_IS)]
    message = (
        f"At most {mib_text(asked_mb)} of {mib_text(machine_mb)}; a run that uses more is ended."
    )
    return [passed("memory", message)]


def notes_on_limits(spec: RunSpec, bounds: Bounds) -> list[str]:
    """Limits of the spec that are not enforced here, as notes of the run."""
    is_open = spec.memory_mb is not None and not bounds.memory
    return [f"its memory limit is not enforced: {_MEMORY_OPEN}"] if is_open else []


def check_internet(context: Context) -> list[Check]:
    """Whether the run can have internet; whether its user agrees is another check."""
    internet, is_asked = context.bounds.internet, context.spec.internet
    if is_asked and internet is Internet.NONE:
        message = "no network of this stack leads out; name one in MOSAIC_ENGINE_OUTSIDE_NETWORK"
        return [wrong("internet", message, ProblemCode.RESOURCES_IMPOSSIBLE)]
    if internet is Internet.OPEN:
        message = "Not restricted: a run outside a container can always reach the internet."
        return [passed("internet", message)]
    return [
        passed("internet", "Asked for." if is_asked else "None; the run reaches the broker only.")
    ]


def check_device(context: Context) -> list[Check]:
    """Whether there are GPUs as asked for, and whether they are free now."""
    spec = context.spec
    if context.bounds.queues and spec.gpu_memory_mb is not None:
        message = (
            "shares a GPU by MOSAIC's own leases, and here the cluster gives GPUs; leave it out for a whole GPU, or "
            "ask your site for MPS or shards (MOSAIC_SLURM_OPTIONS)"
        )
        return [wrong("gpu_memory_mb", message, ProblemCode.RESOURCES_IMPOSSIBLE)]
    need = _device_need(spec, context.worker.manifest, context.description)
    refusals = _device_refusals(spec, need, context.stock)
    if not refusals and spec.gpus and context.bounds.queues:
        return [
            passed(
                "device",
                f"{spec.gpus} of {context.stock.count} GPUs of a node; the cluster's queue gives them.",
            )
        ]
    return refusals or [device_line(spec, need, context.stock, context.devices)]


def _device_need(
    spec: RunSpec, manifest: WorkerManifest, description: WorkerDescription
) -> DeviceNeed:
    """What the algorithm says, else its worker."""
    algorithm = description.find_algorithm(spec.algorithm)
    return (algorithm.device if algorithm else None) or manifest.device


def _device_refusals(spec: RunSpec, need: DeviceNeed, stock: GpuStock) -> list[Check]:
    """What can never be given here."""
    found: list[Check] = []
    if spec.gpu_memory_mb is not None and spec.gpus == 0:
        message = "is memory of GPUs, and the run asks for none; add `gpus` 1"
        found.append(wrong("gpu_memory_mb", message, ProblemCode.SPEC_INVALID))
    if (refusal := stock.refusal(spec.gpus, spec.gpu_memory_mb)) is not None:
        if need is not DeviceNeed.REQUIRED:
            refusal = f"{refusal.rstrip('.')}; without `gpus` it runs on the CPU"
        found.append(wrong("gpus", refusal, ProblemCode.RESOURCES_IMPOSSIBLE))
    if need is DeviceNeed.REQUIRED and spec.gpus == 0:
        has = "ask for one with `gpus` 1"
        if stock.is_known and stock.count == 0:
            has = f"this machine has none. {stock.note}"
        message = f"{spec.worker} {spec.algorithm} cannot work without a GPU; {has}"
        found.append(wrong("gpus", message, ProblemCode.RESOURCES_IMPOSSIBLE))
    return found


def device_line(spec: RunSpec, need: DeviceNeed, stock: GpuStock, devices: Devices) -> Check:
    """Check of the device of a run whose fields are right."""
    if spec.gpus:
        claim = QueueEntry("", cpus=0, gpus=spec.gpus, gpu_memory_mb=spec.gpu_memory_mb)
        (place,) = queue_places([claim], 0, 0, devices)
        if place.starts:
            lost = "".join(f" {offer.occupants()}." for offer in devices.offers if offer.lost)
            return passed("device", f"{spec.gpus} of {stock.count} GPUs, free now.{lost}")
        message = f"The run would wait: {place.reason}."
        return warned("device", message, "Wait, or see who holds them (`./mosaic gpus`).")
    if need is DeviceNeed.NONE:
        return passed("device", "CPU; it uses no GPU.")
    if stock.count:
        message = f"CPU; it could use a GPU (`gpus` 1). GPUs that a run can have: {stock.count}."
        return passed("device", message)
    cores = "1 core" if spec.cpus == 1 else f"{spec.cpus} cores"
    return passed("device", f"CPU, {cores}; a GPU would be faster. {stock.note}".strip())
