"""Files with what was learned: PyTorch, safetensors, Stable-Baselines3."""

from __future__ import annotations

import os
from typing import Any

from mosaic_hook.reporter import Reporter


def listen_to_torch_save(reporter: Reporter, module: Any) -> None:
    """Hear `torch.save` to a path."""

    def saved(_result: Any, _obj: Any, f: Any = None, *_: Any, **__: Any) -> None:
        reporter.heard("torch.save")
        reporter.checkpoint(f, "torch.save")

    reporter.replace(module, "save", "torch.save", after=saved)


def listen_to_safetensors(reporter: Reporter, module: Any) -> None:
    """Hear `safetensors.torch.save_file`."""

    def saved(_result: Any, _tensors: Any, filename: Any, *_: Any, **__: Any) -> None:
        reporter.heard("safetensors")
        reporter.checkpoint(filename, "safetensors")

    reporter.replace(module, "save_file", "safetensors", after=saved)


def listen_to_sb3_save(reporter: Reporter, module: Any) -> None:
    """Hear `model.save` of Stable-Baselines3, which adds `.zip` to a path without an ending."""

    def saved(_result: Any, _self: Any, path: Any, *_: Any, **__: Any) -> None:
        reporter.heard("stable_baselines3.save")
        if isinstance(path, (str, os.PathLike)):
            whole = os.fspath(path)
            has_ending = bool(os.path.splitext(whole)[1])  # RL Zoo has a folder with the path alone
            reporter.checkpoint(whole if has_ending else whole + ".zip", "stable_baselines3.save")

    reporter.replace(module.BaseAlgorithm, "save", "stable_baselines3.save", after=saved)
