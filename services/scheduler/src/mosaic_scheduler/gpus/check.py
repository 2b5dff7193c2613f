"""Tries the real path on a machine with a card: `python -m mosaic_scheduler.gpus.check [--image IMAGE]`.

It shows what NVML reports, whether a process sees exactly the device that it is given, and whether its memory is seen
under its pid and is free again after a kill. With `--image` it checks the same for a container. Exit code 0: all is
as it should be; 1: something is not; 2: there is no GPU to try it on.
"""

import argparse
import asyncio
import contextlib
import os
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence

import docker

from mosaic_contracts.gpus import GpuGrant
from mosaic_scheduler.executors.engine import ENGINE_AWAY
from mosaic_scheduler.executors.nvidia import NO_DEVICES, NvidiaRuntime, device_settings
from mosaic_scheduler.gpus.reading import DeviceReading
from mosaic_scheduler.gpus.watch import GpuWatch

HOLDER = (sys.executable, "-I", "-c", """
import ctypes
cuda = ctypes.CDLL("libcuda.so.1")
count, device, context, memory = ctypes.c_int(), ctypes.c_int(), ctypes.c_void_p(), ctypes.c_uint64()
if cuda.cuInit(0) == 0:
    cuda.cuDeviceGetCount(ctypes.byref(count))
if count.value:
    cuda.cuDeviceGet(ctypes.byref(device), 0)
    assert cuda.cuCtxCreate_v2(ctypes.byref(context), 0, device) == 0, "no context"
    assert cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(268435456)) == 0, "no memory"
print(count.value, flush=True)
input()
""")  # fmt: skip
"""Says how many devices CUDA shows it, and holds memory on the first until it is ended. Needs the driver alone."""
_SEEN_S = 10.0
_FREE_S = 30.0


class GpuCheck:
    """One try; each finding is printed as it comes."""

    def __init__(self, watch: GpuWatch, holder: Sequence[str] = HOLDER) -> None:
        self._watch = watch
        self._holder = holder
        self.failed = 0

    async def run(self, image: str | None) -> int:
        """All of it. Return the exit code."""
        await self._watch.look()
        reading = self._watch.reading
        _print(f"driver: {reading.state}. {reading.note}".rstrip())
        for device in reading.devices:
            sample = device.sample.model_dump(exclude={"uuid", "index"})
            _print(
                f"{device.label} {device.sample.uuid}: {sample}, {len(device.processes)} processes"
            )
        if not reading.devices:
            return 2
        async with self._held("") as (_, seen):
            self._report("a run on the CPU sees no device", seen == "0", f"CUDA shows {seen}")
        for device in reading.devices:
            await self._try_process(device)
        if image is not None:
            await asyncio.to_thread(self._try_container, reading.devices[0].sample.uuid, image)
        return int(self.failed > 0)

    async def _try_process(self, device: DeviceReading) -> None:
        uuid = device.sample.uuid
        async with self._held(uuid) as (pid, seen):
            self._report(
                f"{device.label}: a process sees it alone", seen == "1", f"CUDA shows {seen}"
            )
            at = await self._until(lambda: self._devices_of(pid) == {uuid}, _SEEN_S)
            where = (
                ", ".join(self._devices_of(pid)) or "nowhere (a container without the host's pids?)"
            )
            self._report(
                f"{device.label}: NVML shows it there", at is not None, f"it shows it {where}"
            )
        at = await self._until(lambda: not self._devices_of(pid), _FREE_S)
        took = "never" if at is None else f"after {at:.1f} s"
        self._report(f"{device.label}: it is free after a kill", at is not None, took)

    def _try_container(self, uuid: str, image: str) -> None:
        try:
            client = docker.from_env()
            problem = NvidiaRuntime(client).problem()
            self._report("the engine has the NVIDIA runtime", not problem, problem)
            if problem:
                return
            found = str(client.images.get(image).id)  # by its digest: `run` would pull a name
            grant = GpuGrant(token="check", devices=[uuid])
            argv = ["nvidia-smi", "-L"]
            shown = client.containers.run(
                found, argv, entrypoint=[], remove=True, **device_settings(grant)
            ).decode()
            right = uuid in shown and shown.count("UUID") == 1
            self._report("a container sees its device alone", right, shown.strip())
            argv = ["sh", "-c", "ls /dev | grep -c ^nvidia || true"]
            count = client.containers.run(
                found, argv, entrypoint=[], remove=True, environment=NO_DEVICES
            ).decode()
            self._report("a container without GPUs sees none", count.strip() == "0", count.strip())
        except ENGINE_AWAY as error:
            self._report("the container engine does it", False, str(error))

    @contextlib.asynccontextmanager
    async def _held(self, devices: str) -> AsyncIterator[tuple[int, str]]:
        """A process that holds memory: its pid, and how many devices it sees. It is killed at the end."""
        process = await asyncio.create_subprocess_exec(
            *self._holder,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, "CUDA_VISIBLE_DEVICES": devices},
        )
        try:
            line = await process.stdout.readline() if process.stdout is not None else b""
            yield process.pid, line.decode().strip()
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def _until(self, holds: Callable[[], bool], limit_s: float) -> float | None:
        """Look until it holds. Return the seconds that took; None: it never did."""
        began = time.monotonic()
        while time.monotonic() - began < limit_s:
            await self._watch.look()
            if holds():
                return time.monotonic() - began
            await asyncio.sleep(0.2)  # NVML announces nothing
        return None

    def _devices_of(self, pid: int) -> set[str]:
        return {
            device.sample.uuid
            for device in self._watch.reading.devices
            if any(process.pid == pid for process in device.processes)
        }

    def _report(self, what: str, is_so: bool, detail: str) -> None:
        self.failed += not is_so
        _print(f"{'ok    ' if is_so else 'FAILED'} {what}: {detail}".rstrip(": "))


def _print(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


async def _main() -> int:
    parser = argparse.ArgumentParser(description="Try GPUs as the scheduler uses them.")
    parser.add_argument(
        "--image",
        help="also in a container of this image, e.g. localhost/mosaic/worker_cleanrl:0.1.0",
    )
    image: str | None = parser.parse_args().image
    watch = GpuWatch()
    try:
        return await GpuCheck(watch).run(image)
    finally:
        await watch.close()


if __name__ == "__main__":
    sys.exit(asyncio.run(_main()))
