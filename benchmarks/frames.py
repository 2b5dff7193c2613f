"""Ways to send a picture: time to encode and to decode it, and its size, for frames of real environments and for noise.

    var/venvs/worker_cleanrl/bin/python benchmarks/frames.py

Ways whose library is not installed are left out (`uv pip install pillow PyTurboJPEG`; PyTurboJPEG needs libturbojpeg).
"""

import io
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import simplejpeg
import zstandard

from mosaic_gymkit.drawing import Drawer
from mosaic_gymkit.families import find_registered
from mosaic_gymkit.picture_bytes import decode_picture
from mosaic_gymkit.pictures import PictureEncoder, plain_picture

ROUNDS = 60
JPEG = b"\xff\xd8"
ENVIRONMENTS = (
    "CartPole-v1",
    "LunarLander-v2",
    "FrozenLake-v1",
    "BreakoutNoFrameskip-v4",
    "CarRacing-v2",
)
Way = tuple[Callable[[Any], bytes], Callable[[bytes], Any]]


def main() -> None:
    """Print a line for each picture and way."""
    print("picture | way | encode ms | KiB | decode ms (medians)")
    for name, picture in pictures().items():
        for way, (encode, decode) in ways(picture).items():
            data = encode(picture)
            there, back = median(partial(encode, picture)), median(partial(decode, data))
            size, shape = len(data) / 1024, "x".join(map(str, picture.shape))
            print(f"{name} {shape} | {way} | {there:.2f} | {size:.1f} | {back:.2f}", flush=True)


def pictures() -> dict[str, Any]:
    """Frames in the middle of an episode, and what no codec likes."""
    found = {}
    for name in ENVIRONMENTS:
        find_registered(name)
        env = gymnasium.make(name)
        env.reset(seed=1)
        # Box2D's car takes no action of this NumPy.
        for _ in range(0 if name.startswith("CarRacing") else 60):
            _, _, ended, cut, _ = env.step(env.action_space.sample())
            if ended or cut:
                env.reset()
        found[name] = plain_picture(Drawer(env).draw())
    dice = np.random.default_rng(1)
    smooth = np.linspace(0, 255, 640)[None, :, None] + 8 * dice.standard_normal((480, 640, 3))
    found["photo-like"] = np.clip(smooth, 0, 255).astype(np.uint8)
    return found


def ways(picture: Any) -> dict[str, Way]:
    """The ways that can be tried here."""
    shape = picture.shape
    compress, encoder = zstandard.ZstdCompressor(level=1).compress, PictureEncoder()
    found: dict[str, Way] = {
        "zstd of raw": (lambda p: compress(p.data), lambda b: decode_picture("zstd", b, shape)),
        "simplejpeg 85": (
            lambda p: simplejpeg.encode_jpeg(p, quality=85, colorsubsampling="420", fastdct=True),
            lambda b: simplejpeg.decode_jpeg(b),
        ),
        "MOSAIC's choice": (
            lambda p: encoder.encode(p).data,
            lambda b: (
                simplejpeg.decode_jpeg(b)
                if b.startswith(JPEG)
                else decode_picture("zstd", b, shape)
            ),
        ),
    }
    try:
        from PIL import Image
    except ImportError:
        pass
    else:
        found["Pillow JPEG 85"] = (
            lambda p: _saved(Image.fromarray(p), "JPEG", quality=85),
            lambda b: np.asarray(Image.open(io.BytesIO(b))),
        )
        found["Pillow PNG 1"] = (
            lambda p: _saved(Image.fromarray(p), "PNG", compress_level=1),
            lambda b: np.asarray(Image.open(io.BytesIO(b))),
        )
    try:
        from turbojpeg import TurboJPEG

        turbo = TurboJPEG()
    except (ImportError, RuntimeError):
        pass
    else:
        found["PyTurboJPEG 85"] = (lambda p: turbo.encode(p, quality=85), turbo.decode)
    return found


def _saved(image: Any, kind: str, **options: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def median(work: Callable[[], Any]) -> float:
    """Median milliseconds of a piece of work."""
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        work()
        times.append(1000 * (time.perf_counter() - began))
    return statistics.median(times)


if __name__ == "__main__":
    main()
