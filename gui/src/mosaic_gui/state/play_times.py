"""How long a key takes: from sending it to the first frame of a step that knew it."""

from collections import deque
from statistics import median

KEPT = 50
MOST_PENDING = 256


class KeyDelays:
    """Delays of the newest key presses. Times are of one monotonic clock."""

    def __init__(self) -> None:
        self._pending: deque[tuple[int, float]] = deque(maxlen=MOST_PENDING)
        self._delays_ms: deque[float] = deque(maxlen=KEPT)

    def note(self, number: int, now_s: float) -> None:
        """An input with a new key was sent."""
        self._pending.append((number, now_s))

    def take_frame(self, known: int, now_s: float) -> None:
        """A frame came that knows all inputs up to this number."""
        while self._pending and self._pending[0][0] <= known:
            self._delays_ms.append(1e3 * (now_s - self._pending.popleft()[1]))

    def forget(self) -> None:
        """No step will know what is pending: it was refused, or the play is paused."""
        self._pending.clear()

    def clear(self) -> None:
        """Begin again."""
        self.forget()
        self._delays_ms.clear()

    @property
    def last_ms(self) -> float | None:
        """The newest delay; None: none was measured."""
        return self._delays_ms[-1] if self._delays_ms else None

    @property
    def median_ms(self) -> float | None:
        """Median of the newest delays; None: none was measured."""
        return median(self._delays_ms) if self._delays_ms else None
