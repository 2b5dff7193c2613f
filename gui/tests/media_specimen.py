"""Texts, histograms and images as a run has them."""

import math
from typing import Any

from mosaic_contracts.media import MediaName, MediaValue, MediaValues

STEPS = 40


def name(kind: Any, called: str, count: int = STEPS) -> MediaName:
    """A name with its values."""
    return MediaName(kind=kind, name=called, count=count, first_step=0, last_step=100 * (count - 1))


NAMES = [
    name("text", "samples/plan", 2),
    name("histogram", "weights/fc1"),
    name("image", "frames", 3),
]


def histogram(step: int, mean: float, width: float = 1.0) -> MediaValue:
    """A bell of 40 bins around a mean."""
    edges = [mean + width * (n - 20) / 5 for n in range(41)]
    counts = [100 * math.exp(-(((n - 19.5) / 7) ** 2)) for n in range(40)]
    return MediaValue(attempt=1, seq=step + 1, step=step, t=0.0, edges=edges, counts=counts)


def histograms(count: int = STEPS) -> MediaValues:
    """A distribution that moves up and widens."""
    values = [histogram(100 * n, n / 10, 0.5 + n / 40) for n in range(count)]
    return MediaValues(kind="histogram", name="weights/fc1", count=count, values=values)


def texts() -> MediaValues:
    """Two texts, the second one cut."""
    words = ("|action|value|\n|-|-|\n|left|0.5|", "go **left**")
    values = [
        MediaValue(
            attempt=1, seq=n + 1, step=100 * n, t=0.0, text=text, characters=70_000 * n or None
        )
        for n, text in enumerate(words)
    ]
    return MediaValues(kind="text", name="samples/plan", count=2, values=values)


def images(count: int = 3) -> MediaValues:
    """Images with captions; their files are not here."""
    values = [
        MediaValue(
            attempt=1,
            seq=n + 1,
            step=100 * n,
            t=0.0,
            path=f"media/frames/{n}.png",
            width=40,
            height=30,
            bytes=100,
            caption=f"frame {n}",
        )
        for n in range(count)
    ]
    return MediaValues(kind="image", name="frames", count=count, values=values)
