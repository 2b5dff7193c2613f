"""Uniform numbers by the block, from a generator whose exact state is known after each of them."""

import json
from typing import Any

import numpy as np

_BLOCK = 8192


class Draws:
    """Numbers in [0, 1), the same and in the same order as `Generator.random()` gives them one by one.

    A loop reads `block`, or `array` which holds the same, from `place` on and writes `place` back; `reserve` first.
    """

    def __init__(self, bits: np.random.PCG64) -> None:
        self._bits = bits
        self._numbers = np.random.Generator(bits)
        self._spare = np.random.PCG64(0)
        self.array = np.empty(0)
        self.block: list[float] = []
        self.place = 0

    @classmethod
    def seeded(cls, *seed: int) -> "Draws":
        """From a seed, as gymnasium seeds an environment when there is one number."""
        return cls(np.random.PCG64(np.random.SeedSequence(seed if len(seed) > 1 else seed[0])))

    @classmethod
    def restored(cls, state: str) -> "Draws":
        """From what `state` gave.

        Raises:
            ValueError: it is no state of this generator.
        """
        bits = np.random.PCG64()
        try:
            bits.state = json.loads(state)
        except (KeyError, TypeError) as error:
            raise ValueError(f"no state of a PCG64: {error}") from error
        return cls(bits)

    def reserve(self, count: int) -> None:
        """Have at least so many numbers in the block from `place` on."""
        left = len(self.block) - self.place
        if left < count:
            new = self._numbers.random(max(_BLOCK, count))
            self.array = np.concatenate((self.array[self.place :], new))
            self.block = self.array.tolist()
            self.place = 0

    def next(self) -> float:
        """One number."""
        self.reserve(1)
        self.place += 1
        return self.block[self.place - 1]

    def state(self) -> str:
        """JSON text of the generator's state as it is before the next number, in numpy's own form."""
        bits = self._spare
        bits.state = self._bits.state
        # One number takes one step of this generator, so those not yet used are steps back.
        bits.advance(-(len(self.block) - self.place))
        state: dict[str, Any] = dict(bits.state)
        return json.dumps(state)
