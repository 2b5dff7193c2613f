"""The container engine: how it is reached, and what its refusals and its absence mean, in words."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import docker
import requests
import urllib3
from docker.errors import APIError, DockerException
from docker.types import Mount

from mosaic_scheduler.errors import EngineUnavailable
from mosaic_scheduler.executors.protocol import Internet

LABEL_STACK = "mosaic.stack"
HOST_NETWORK = "host"
NO_NETWORK = "none"
ENGINE_TIMEOUT_S = 20
NO_NVIDIA_RUNTIME = (
    "The container engine has no NVIDIA runtime: install the NVIDIA container toolkit, `sudo nvidia-ctk runtime "
    "configure --runtime=docker`, restart Docker"
)
ENGINE_AWAY = (requests.RequestException, DockerException, urllib3.exceptions.HTTPError, OSError)
"""What a call to an engine may raise.

`is_answer` distinguishes an error answer of the engine from an engine that does not answer. Files raise OSError, too:
see `asking_engine`.
"""


@dataclass(frozen=True)
class Engine:
    """How runs are started on an engine."""

    stack: str
    """Names this stack on the engine: containers of others are never touched."""
    network: str
    """Network on which runs reach the broker; `host` only where the broker is on the host's loopback. `none`: they
    have no network, and reach broker and XMPP server through sockets in DOORS_DIR."""
    outside: str | None = None
    """Network with a way out, which a run that may have internet joins as well."""
    volume: str | None = None
    """Named volume that is our MOSAIC_HOME; None: it is a folder of the engine's host."""
    url: str | None = None
    """Address of the engine; None: as the environment says (`DOCKER_HOST`), else the local socket."""

    @property
    def internet(self) -> Internet:
        """Whether runs have a way out."""
        if self.network == HOST_NETWORK:
            return Internet.OPEN
        return Internet.NONE if self.outside is None else Internet.ON_REQUEST

    def mount(self, folder: Path, subpath: str, target: str, *, read_only: bool = False) -> Mount:
        """A mount of a folder of MOSAIC_HOME in a container.

        Args:
            folder: the folder, by its path here.
            subpath: the same, relative to MOSAIC_HOME.
            target: where the container sees it.
            read_only: whether the container cannot write there.
        """
        if self.volume is None:
            return Mount(target, str(folder), type="bind", read_only=read_only)
        mount = Mount(target, self.volume, type="volume", read_only=read_only)
        mount["VolumeOptions"] = {"Subpath": subpath, "NoCopy": True}
        return mount

    def connect(self) -> docker.DockerClient:
        """A client, not yet connected."""
        if self.url is None:
            return docker.from_env(timeout=ENGINE_TIMEOUT_S, version="1.45")
        return docker.DockerClient(self.url, timeout=ENGINE_TIMEOUT_S, version="1.45")


@contextmanager
def asking_engine() -> Iterator[None]:
    """Turn the engine's silence into EngineUnavailable; what it answers is raised as it is.

    Put calls of the engine inside and nothing else: an OSError of a file would read as an absent engine.
    """
    try:
        yield
    except ENGINE_AWAY as error:
        if is_answer(error) or isinstance(error, EngineUnavailable):
            raise
        raise EngineUnavailable(away(error)) from error


def is_answer(error: Exception) -> bool:
    """Whether the engine itself said no; a proxy before an engine that is away answers too, in its own name."""
    return isinstance(error, APIError) and error.status_code not in (502, 503, 504)


def explained(error: Exception) -> str:
    """What the engine said, and what to do where that is known."""
    said = str(getattr(error, "explanation", None) or error)
    if "could not select device driver" in said:
        said += f". {NO_NVIDIA_RUNTIME}; or ask for gpus 0"
    return said


def away(error: Exception) -> str:
    """That the engine does not answer, why, and what to do."""
    why: BaseException | None = error
    while why is not None and not (isinstance(why, OSError) and why.strerror):
        why = why.__cause__ or why.__context__
    reason = why.strerror if isinstance(why, OSError) else type(error).__name__
    return (
        f"The container engine cannot be reached ({reason}). Start it: `sudo systemctl start docker`, and where it is "
        "asked through the proxy of the stack in containers, `docker compose up -d engine`."
    )


def image_missing(image: str) -> str:
    """That an image is not there, and what to do."""
    return (
        f"Image {image} is not on this engine, and none is ever pulled. Build it: `./mosaic images build` for a worker "
        f"of MOSAIC's own, `docker build -t {image} FOLDER` for yours."
    )
