"""A checkpoint as it lies on the disk: what it is of, read without torch, and why it cannot be used.

No code in the file is run: of a pickle's names only those are known by which torch writes tensors, and each of them is
a stand-in here.
"""

import os
import pickle
import zipfile
from collections import OrderedDict
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

from pydantic import Field, ValidationError

from mosaic_contracts.checkpoint_words import EXPORT_FACTS
from mosaic_contracts.fault import fault_place, fault_text
from mosaic_contracts.models import PeerModel
from mosaic_worker_cleanrl.errors import CheckpointRefused, FileUnknown
from mosaic_worker_cleanrl.foreign import (
    SB3_MARK,
    describe_cleanrl_model,
    describe_d3rlpy,
    describe_stable_baselines,
)

FORMAT = "mosaic.cleanrl.checkpoint"
FORMAT_VERSION = 2
"""Version 1 had no spaces; it is still read."""
OBSERVATIONS, RETURNS = "obs_rms", "return_rms"
"""Names of the statistics of the normalising wrappers."""
_MAX_BYTES = 4 * 2**30
_ZIP = b"PK\x03\x04"
_PICKLE = b"\x80"
_MOST_PICKLE_BYTES = 512 * 2**20
_STORAGES = frozenset(
    f"{kind}Storage"
    for kind in ("Float", "Double", "Half", "BFloat16", "Long", "Int", "Short", "Char", "Byte", "Bool")
)  # fmt: skip


class SavedTensor(tuple[int, ...]):
    """Shape of a tensor in the file."""

    __slots__ = ()


class SavedStatistics(PeerModel):
    """Statistics of one normalising wrapper; mean and variance are tensors of the file."""

    count: float


class SavedState(PeerModel):
    """What a checkpoint says of itself."""

    version: int
    algorithm: str
    environment: str
    seed: int
    global_step: int | None
    """Environment steps of the training; None: of a converted file that does not say it."""
    networks: dict[str, dict[str, Any]]
    """Shape of each tensor, by the names of the script's variables and of the parameters in them."""
    arguments: dict[str, Any]
    normalizers: dict[str, SavedStatistics] = Field(default_factory=dict)
    wrappers: list[str] = Field(default_factory=list)
    packages: dict[str, str] = Field(default_factory=dict)
    spaces: dict[str, dict[str, Any]] | None = None
    """Spaces of the environment itself, as a `config` event has them; None: of a checkpoint of version 1."""

    @property
    def has_observation_statistics(self) -> bool:
        """Whether the script normalised observations, and their statistics are here."""
        return has_observation_statistics(self.normalizers)


def has_observation_statistics(normalizers: Mapping[str, Any]) -> bool:
    """Whether statistics of observations are among those of a checkpoint, by the names that they have there."""
    return any(name.rpartition(".")[2] == OBSERVATIONS for name in normalizers)


def read_saved(path: Path) -> SavedState:
    """Read what a checkpoint says of itself, and check that each byte is as it was written.

    Raises:
        CheckpointRefused: it is not there, truncated, altered, of another program or of a newer version, or holds code.
    """
    state = read_content(path)
    if not is_saved_state(state):
        whose = describe_cleanrl_model(state, SavedTensor) or "a PyTorch file of another program."
        raise CheckpointRefused(f"{path.name} is {whose} {_OURS}")
    return saved_of(state, path)


def is_saved_state(state: Any) -> bool:
    """Whether the content of a file is that of a checkpoint of this worker."""
    return isinstance(state, Mapping) and state.get("format") == FORMAT


def read_content(path: Path) -> Any:
    """Read a PyTorch file, with the shape of each tensor in its place, and check each byte.

    Raises:
        CheckpointRefused: it is not there, truncated, altered, no PyTorch file, or holds code.
    """
    try:
        size, start = path.stat().st_size, _first_bytes(path)
    except OSError as error:
        raise CheckpointRefused(
            f"There is no readable checkpoint {path} ({error.strerror}). `./mosaic artifacts RUN` lists those of a run."
        ) from error
    if size > _MAX_BYTES:
        raise CheckpointRefused(f"{path.name} is larger than {_MAX_BYTES // 2**30} GiB.")
    if not size or (start != _ZIP and _ZIP.startswith(start)):
        raise CheckpointRefused(_truncated(path))
    if start != _ZIP:
        whose = _foreign_pickle(path) if start[:1] == _PICKLE else None
        if whose is None:
            raise FileUnknown(f"{path.name} is no checkpoint of this worker. {_OURS}")
        raise CheckpointRefused(f"{path.name} is {whose} {_OURS}")
    try:
        return _content(_members(path), path)
    except zipfile.BadZipFile as error:
        raise CheckpointRefused(_truncated(path)) from error
    except OSError as error:
        raise CheckpointRefused(f"{path.name} cannot be read: {error}.") from error


_OURS = "Take one that a run of this worker saved: checkpoints/*.pt."


def _truncated(path: Path) -> str:
    return (
        f"{path.name} is truncated: its end is missing. Copy it again, or take another checkpoint."
    )


def _altered(path: Path, what: str) -> CheckpointRefused:
    return CheckpointRefused(
        f"{path.name} was altered after it was written: {what}. Take another checkpoint."
    )


def _first_bytes(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(len(_ZIP))


def _members(path: Path) -> bytes:
    """The pickle in the file, once every member has been compared with its checksum."""
    with zipfile.ZipFile(path) as archive:
        infos = archive.infolist()
        pickled = next((info for info in infos if info.filename.endswith("/data.pkl")), None)
        if pickled is None:
            names = {info.filename for info in infos}
            if SB3_MARK in names:
                whose = describe_stable_baselines(archive)
                raise CheckpointRefused(f"{path.name} is {whose} {_OURS}")
            if EXPORT_FACTS in names:
                raise CheckpointRefused(
                    f"{path.name} is an exported checkpoint that another program has packed again. Unpack it, and "
                    "import the checkpoint in it."
                )
            raise FileUnknown(f"{path.name} is an archive of another program. {_OURS}")
        if any(info.compress_type != zipfile.ZIP_STORED for info in infos):
            raise _altered(path, "parts of it are compressed")
        try:
            damaged = archive.testzip()
        except (NotImplementedError, RuntimeError, EOFError) as error:
            raise _altered(path, str(error)) from error
        if damaged is not None:
            raise _altered(path, f"{damaged} does not have its checksum")
        return archive.read(pickled)


def _content(data: bytes, path: Path) -> Any:
    try:
        return _unpickled(BytesIO(data), path)
    except _PickleUnreadable as error:
        raise _altered(path, f"its contents cannot be read ({error})") from error


def saved_of(state: Mapping[str, Any], path: Path) -> SavedState:
    """What a checkpoint says of itself.

    Args:
        state: its content, as `read_content` returns it.
        path: the file, for messages.

    Raises:
        CheckpointRefused: it is of a newer version, or was altered.
    """
    version = state.get("version")
    if not isinstance(version, int) or version > FORMAT_VERSION:
        raise CheckpointRefused(
            f"{path.name} has version {version} of the format; this worker reads versions up to {FORMAT_VERSION}. "
            "Update MOSAIC, or take a checkpoint of an earlier version."
        )
    try:
        return SavedState.model_validate(state)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        raise _altered(path, f"{fault_place(fault) or 'a value'} {fault_text(fault)}") from error


def _foreign_pickle(path: Path) -> str | None:
    """Describe a bare pickle of plain values; None where nothing is known of it.

    Raises:
        CheckpointRefused: it would run code when it is loaded.
    """
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_size > _MOST_PICKLE_BYTES:
            return None
        try:
            return describe_d3rlpy(_unpickled(file, path))
        except _PickleUnreadable:
            return None


def _unpickled(file: BinaryIO, path: Path) -> Any:
    """Load plain values, with a shape in the place of each tensor.

    Raises:
        CheckpointRefused: it would run code when it is loaded.
        _PickleUnreadable: it is damaged, or no pickle.
    """
    try:
        return _TensorFreeUnpickler(file).load()
    except CheckpointRefused as error:
        raise CheckpointRefused(f"{path.name} {error}") from error
    # The boundary to a file of unknown origin: a pickle can fail with anything.
    except Exception as error:
        raise _PickleUnreadable(type(error).__name__) from error


class _PickleUnreadable(ValueError):
    """A pickle cannot be loaded; the message names the error."""


class _TensorFreeUnpickler(pickle.Unpickler):
    """Puts a shape in the place of each tensor, and knows no other names."""

    def find_class(self, module: str, name: str) -> Any:
        if module == "torch._utils" and name == "_rebuild_tensor_v2":
            return _rebuild
        if module == "torch" and name in _STORAGES:
            return name
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        raise CheckpointRefused(
            f"would run code when it is loaded ({module}.{name}), so it is not loaded. {_OURS}"
        )

    def persistent_load(self, _place: Any) -> None:
        return None


def _rebuild(_storage: Any, _offset: Any, shape: Any, *_more: Any) -> SavedTensor:
    return SavedTensor(shape)
