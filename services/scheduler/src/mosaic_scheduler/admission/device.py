"""What a run needs of GPUs, and whether this machine has it."""

from mosaic_contracts.preflight import PreflightLine
from mosaic_contracts.problems import ProblemCode
from mosaic_contracts.spec import RunSpec
from mosaic_contracts.worker import DeviceNeed, Finding, WorkerDescription, WorkerManifest
from mosaic_scheduler.admission import lines
from mosaic_scheduler.gpus.offer import Devices
from mosaic_scheduler.gpus.stock import GpuStock
from mosaic_scheduler.queue.plan import Claim, queue_places

_ON_CPU = (
    "It runs on the CPU, on {cores} (`cpus`): ask for fewer steps (`steps`), or go where a GPU is."
)


def device_need(
    spec: RunSpec, manifest: WorkerManifest, description: WorkerDescription
) -> DeviceNeed:
    """What the algorithm says, else its worker."""
    own = next((a.device for a in description.algorithms if a.id == spec.algorithm), None)
    return own or manifest.device


def check_device(spec: RunSpec, need: DeviceNeed, stock: GpuStock) -> list[Finding]:
    """What can never be given here."""
    findings: list[Finding] = []
    if spec.gpu_memory_mb is not None and spec.gpus == 0:
        message = "is memory of GPUs, and the run asks for none; add `gpus` 1"
        findings.append(_blocking("gpu_memory_mb", message, ProblemCode.SPEC_INVALID))
    if (refusal := stock.refusal(spec.gpus, spec.gpu_memory_mb)) is not None:
        if need is not DeviceNeed.REQUIRED:
            refusal = f"{refusal.rstrip('.')}; without `gpus` it runs on the CPU"
        findings.append(_blocking("gpus", refusal, ProblemCode.RESOURCES_IMPOSSIBLE))
    if need is DeviceNeed.REQUIRED and spec.gpus == 0:
        has = "ask for one with `gpus` 1"
        if stock.is_known and stock.count == 0:
            has = f"this machine has none. {stock.note}"
        message = f"{spec.worker} {spec.algorithm} cannot work without a GPU; {has}"
        findings.append(_blocking("gpus", message, ProblemCode.RESOURCES_IMPOSSIBLE))
    return findings


def of_device(spec: RunSpec, need: DeviceNeed, stock: GpuStock, devices: Devices) -> PreflightLine:
    """Line about the device of a run that nothing speaks against."""
    if spec.gpus:
        claim = Claim("", cpus=0, gpus=spec.gpus, gpu_memory_mb=spec.gpu_memory_mb)
        (place,) = queue_places([claim], 0, 0, devices)
        if place.starts:
            lost = "".join(f" {offer.occupants()}." for offer in devices.offers if offer.lost)
            return lines.ok("device", f"{spec.gpus} of {stock.count} GPUs, free now.{lost}")
        message = f"It would wait: {place.reason}."
        return lines.warning("device", message, "Wait, or see who holds them (`./mosaic gpus`).")
    if need is DeviceNeed.NONE:
        return lines.ok("device", "CPU; it uses no GPU.")
    if stock.count:
        message = f"CPU; it could use a GPU (`gpus` 1), of which this machine has {stock.count}."
        return lines.ok("device", message)
    message = f"It could use a GPU, and there is none to give. {stock.note}".strip()
    return lines.warning(
        "device",
        message,
        _ON_CPU.format(cores="1 core" if spec.cpus == 1 else f"{spec.cpus} cores"),
    )


def _blocking(where: str, message: str, code: ProblemCode) -> Finding:
    return Finding(level="blocking", where=where, message=message, code=code)
