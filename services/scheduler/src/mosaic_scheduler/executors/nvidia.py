"""GPUs of a container: the device request that is its wall, the label of who holds them, the runtime of the engine."""

import time
from typing import Any

import docker
from docker.models.containers import Container
from docker.types import DeviceRequest

from mosaic_contracts.gpus import GpuGrant
from mosaic_scheduler.executors.engine import ENGINE_AWAY, NO_NVIDIA_RUNTIME

LABEL_GPUS = "mosaic.gpus"
"""The GpuGrant as JSON: from it leases are rebuilt."""
NO_DEVICES = {"NVIDIA_VISIBLE_DEVICES": "void"}
"""Where NVIDIA's runtime is the engine's default, it hands all GPUs to an image that asks for them by itself."""
_RUNTIME = "nvidia"
_ASK_AGAIN_S = 60.0


def device_settings(grant: GpuGrant | None) -> dict[str, Any]:
    """What a container is created with to get exactly these devices."""
    if grant is None:
        return {}
    request = DeviceRequest(driver="nvidia", device_ids=grant.devices, capabilities=[["gpu"]])
    return {"device_requests": [request]}


def grant_labels(grant: GpuGrant | None) -> dict[str, str]:
    """What its container carries."""
    return {} if grant is None else {LABEL_GPUS: grant.model_dump_json()}


def grant_of(container: Container) -> GpuGrant | None:
    """What it holds."""
    label = container.labels.get(LABEL_GPUS)
    return None if label is None else GpuGrant.model_validate_json(label)


class NvidiaRuntime:
    """Whether the engine can hand a GPU to a container; asked once a minute. Blocks, so call it in a thread."""

    def __init__(self, client: docker.DockerClient) -> None:
        self._client = client
        self._problem = ""
        self._next_ask = 0.0

    def problem(self) -> str:
        """Why it cannot, and what to do; empty: it can, or it cannot be asked now."""
        if time.monotonic() >= self._next_ask:
            self._next_ask = time.monotonic() + _ASK_AGAIN_S
            try:
                runtimes = self._client.info().get("Runtimes") or {}
            except ENGINE_AWAY:
                return self._problem  # a start says so itself
            self._problem = "" if _RUNTIME in runtimes else f"{NO_NVIDIA_RUNTIME}."
        return self._problem
