"""Asks the helper process for a look at the GPUs every two seconds, and bears whatever becomes of it.

The helper hangs with a driver that hangs: then it is ended (or left, when the kernel cannot end it either), the state
is `silent`, and another one is tried after a while. What was known of the devices stays known meanwhile.
"""

import asyncio
import sys
import time
from collections.abc import Sequence
from contextlib import suppress

from mosaic_contracts.interpreter import python_module
from mosaic_contracts.machine import GpuState
from mosaic_scheduler.gpus.answer import HelperAnswerInvalid
from mosaic_scheduler.gpus.reading import GpuReading, parse
from mosaic_servicekit.logging import get_log

INTERVAL_S = 2.0
ANSWER_S = 10.0
"""A driver that persistence mode does not keep loaded takes seconds for its first answer."""
RETRY_S = 60.0
"""A driver that is missing is looked for again after this; to ask it each time costs more than all the rest."""
HELPER = tuple(python_module(sys.executable, "mosaic_scheduler.gpus.nvml"))
_GONE_S = 2.0
"""Limit for a helper to end after it was killed."""
_LINE_BYTES = 2**20
_SHOWN_BYTES = 300


class GpuWatch:
    """The newest reading, and how old it is."""

    def __init__(
        self,
        helper: Sequence[str] = HELPER,
        answer_s: float | None = None,
        retry_s: float | None = None,
    ) -> None:
        self._argv = helper
        self._answer_s = ANSWER_S if answer_s is None else answer_s
        self._retry_s = RETRY_S if retry_s is None else retry_s
        self._helper: asyncio.subprocess.Process | None = None
        self._answered_at: float | None = None
        self.reading = GpuReading()
        self.looks = 0
        """How many there were, whatever they said."""
        self.looked = asyncio.Event()
        """Set with the first reading, whatever it says."""

    @property
    def age_s(self) -> float | None:
        """Seconds since the driver last said something of its devices."""
        return None if self._answered_at is None else time.monotonic() - self._answered_at

    async def run(self) -> None:
        """Look for ever."""
        try:
            while True:
                await self.look()
                await asyncio.sleep(INTERVAL_S if self.reading.is_current else self._retry_s)
        finally:
            await self.close()

    async def look(self) -> None:
        """Look once."""
        reading = await self._ask()
        if reading.state is not self.reading.state:
            get_log().info("gpus.state", state=reading.state, note=reading.note)
        if reading.is_current:
            self._answered_at = time.monotonic()
        else:
            await self.close()  # a fresh one next time, and none that idles until then
        self.reading = reading.after(self.reading)
        self.looks += 1
        self.looked.set()

    async def close(self) -> None:
        """End the helper, as far as it can be ended."""
        helper, self._helper = self._helper, None
        if helper is None or helper.returncode is not None:
            return
        with suppress(ProcessLookupError):
            helper.kill()
        with suppress(TimeoutError):
            async with asyncio.timeout(_GONE_S):
                await helper.wait()

    async def _ask(self) -> GpuReading:
        try:
            async with asyncio.timeout(self._answer_s):
                return _read(await self._line())
        except TimeoutError:
            note = (
                f"The NVIDIA driver has not answered within {self._answer_s:g} s. Runs "
                "continue, and no run gets a GPU. See `nvidia-smi` and `dmesg`; a restart "
                "of the machine may be needed."
            )
        except (OSError, ValueError) as error:
            get_log().warning("gpus.helper_failed", error=str(error))
            note = _strange(str(error))
        return GpuReading(GpuState.SILENT, note)

    async def _line(self) -> bytes:
        if self._helper is None or self._helper.returncode is not None:
            self._helper = await asyncio.create_subprocess_exec(
                *self._argv,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                limit=_LINE_BYTES,
            )
        stdin, stdout = self._helper.stdin, self._helper.stdout
        if stdin is None or stdout is None:
            raise OSError("it has no pipes")
        if await _has_line(stdout):
            raise ValueError("it answered more than was requested")
        stdin.write(b"\n")
        await stdin.drain()
        return await stdout.readline()


async def _has_line(stdout: asyncio.StreamReader) -> bool:
    """Whether a line lies ready to be read; it is taken."""
    try:
        async with asyncio.timeout(0):
            return bool(await stdout.readline())
    except TimeoutError:
        return False


def _read(line: bytes) -> GpuReading:
    """The reading of a line. A line that is no answer is logged and counts as silence: no lease changes by it."""
    try:
        if not line.endswith(b"\n"):
            raise HelperAnswerInvalid(
                "it ended within its answer" if line else "it ended without an answer"
            )
        return parse(line)
    except HelperAnswerInvalid as error:
        shown = line[:_SHOWN_BYTES].decode(errors="replace")
        get_log().warning("gpus.answer_refused", reason=str(error), answer=shown, bytes=len(line))
        return GpuReading(GpuState.SILENT, _strange(str(error)))


def _strange(why: str) -> str:
    return (
        f"The program that reads the GPUs ended, or gave an invalid answer: {why}. Runs "
        "continue, and no run gets a GPU. The scheduler's log has more."
    )
