"""The job API of a Ray cluster, by plain HTTP: no part of Ray is installed here."""

import threading
from enum import StrEnum
from http import HTTPStatus
from typing import Any

import requests
from pydantic import Field, SecretStr, ValidationError

from mosaic_contracts.models import PeerModel
from mosaic_scheduler.errors import EngineUnavailable, LaunchFailed

CONNECT_S = 3.0
ANSWER_S = 20.0
"""A head under load answers late; a submit waits for an agent of a node there."""
_EXISTS = "already exists"
_NO_AGENT = "No available agent"


class RayStatus(StrEnum):
    """State of a job, in Ray's words."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    STOPPED = "STOPPED"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"

    @property
    def is_final(self) -> bool:
        """Whether Ray will say nothing else of the job."""
        return self not in (RayStatus.PENDING, RayStatus.RUNNING)


class RayJob(PeerModel):
    """A job as `GET /api/jobs/` lists it."""

    submission_id: str | None = None
    """None: a program that connected to the cluster by itself."""
    status: RayStatus
    message: str | None = None
    driver_exit_code: int | None = None
    """None: it has not ended, was stopped, or nobody saw its end."""
    driver_agent_http_address: str | None = None
    """Address of the agent on the node where the job runs."""
    driver_node_id: str | None = None
    end_time: int | None = Field(default=None)
    """Milliseconds since the epoch."""

    @property
    def node(self) -> str:
        """Address of the node where it runs; empty: not known."""
        address = self.driver_agent_http_address or ""
        return address.removeprefix("http://").rpartition(":")[0]


class RayNode(PeerModel):
    """A node, and what it has to give away while it lives."""

    is_dead: bool = False
    message: str = ""
    """Why it is dead, in Ray's words."""
    cpus: int = 0
    gpus: int = 0
    memory_mb: int = 0
    address: str = ""

    @classmethod
    def of_raylet(cls, raylet: dict[str, Any]) -> "RayNode":
        """Read it from Ray's summary of a node."""
        total = raylet["resourcesTotal"]
        return cls(
            is_dead=raylet["state"] == "DEAD",
            message=raylet.get("stateMessage") or "",
            cpus=int(total.get("CPU", 0)),
            gpus=int(total.get("GPU", 0)),
            memory_mb=int(total.get("memory", 0)) >> 20,
            address=raylet.get("nodeManagerAddress") or "",
        )


class RayJobs:
    """Jobs of one cluster. Every call may raise EngineUnavailable: nothing is known then."""

    def __init__(self, address: str, token: SecretStr | None = None) -> None:
        """Prepare; nothing is asked yet.

        Args:
            address: of the cluster's dashboard, `http://HOST:8265`.
            token: what a cluster with token authentication asks for.
        """
        self.address = address.rstrip("/")
        self._token = token
        self._local = threading.local()

    def list(self) -> dict[str, RayJob]:
        """Every job with a submission id, by that id."""
        answer = self._ask("GET", "/api/jobs/")
        if answer.status_code != HTTPStatus.OK:
            raise EngineUnavailable(f"{self._named} said: {_said(answer)}")
        try:
            jobs = [RayJob.model_validate(each) for each in answer.json()]
        except (ValueError, ValidationError) as error:
            raise EngineUnavailable(f"{self._named} answers in a way not known: {error}") from error
        return {job.submission_id: job for job in jobs if job.submission_id is not None}

    def nodes(self) -> dict[str, RayNode]:
        """Every node that Ray knows, also those that died lately, by its id."""
        answer = self._ask("GET", "/nodes?view=summary")
        try:
            raylets = [node["raylet"] for node in answer.json()["data"]["summary"]]
            return {raylet["nodeId"]: RayNode.of_raylet(raylet) for raylet in raylets}
        except (ValueError, KeyError, TypeError) as error:
            raise EngineUnavailable(f"{self._named} does not list its nodes: {error!r}") from error

    def submit(self, request: dict[str, Any]) -> None:
        """Hand a job over; one with the same id that is there already is left alone.

        Raises:
            LaunchFailed: Ray refuses it.
        """
        answer = self._ask("POST", "/api/jobs/", request)
        if answer.status_code == HTTPStatus.OK or _EXISTS in answer.text:
            return
        if _NO_AGENT in answer.text:
            raise EngineUnavailable(f"{self._named} has no node that takes jobs now.")
        raise LaunchFailed(f"Ray refused the job: {_said(answer)}")

    def upload(self, name: str, package: bytes) -> str:
        """Hand over files of a job to come; Ray keeps them until the job has ended.

        Args:
            name: of the package, ending in `.zip`.
            package: the zip file.

        Returns:
            Its address, for a job's `working_dir`.
        """
        answer = self._ask("PUT", f"/api/packages/gcs/{name}", package=package)
        if answer.status_code != HTTPStatus.OK:
            raise EngineUnavailable(f"{self._named} takes no files: {_said(answer)}")
        return f"gcs://{name}"

    def stop(self, submission_id: str) -> bool:
        """Ask Ray to end a job: SIGTERM to all its processes, SIGKILL later. Return False when it knows none."""
        answer = self._ask("POST", f"/api/jobs/{submission_id}/stop")
        return answer.status_code == HTTPStatus.OK

    def forget(self, submission_id: str) -> bool:
        """Remove an ended job from Ray's list. Return False when there is none, or it has not ended."""
        answer = self._ask("DELETE", f"/api/jobs/{submission_id}")
        return answer.status_code == HTTPStatus.OK

    def _ask(
        self,
        method: str,
        path: str,
        body: dict[str, Any] | None = None,
        package: bytes | None = None,
    ) -> requests.Response:
        try:
            answer = self._session().request(
                method,
                self.address + path,
                json=body,
                data=package,
                timeout=(CONNECT_S, ANSWER_S),
            )
        except requests.RequestException as error:
            raise EngineUnavailable(
                f"{self._named} cannot be reached ({type(error).__name__}). Start the cluster, or give the address of "
                "its dashboard in MOSAIC_RAY_ADDRESS."
            ) from error
        if answer.status_code in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            raise EngineUnavailable(
                f"{self._named} refuses our token ({answer.status_code}): give the cluster's in MOSAIC_RAY_TOKEN."
            )
        return answer

    @property
    def _named(self) -> str:
        return f"Ray's job API at {self.address}"

    def _session(self) -> requests.Session:
        """One for each thread, for a session is not for several at once."""
        session: requests.Session | None = getattr(self._local, "session", None)
        if session is None:
            session = self._local.session = requests.Session()
            session.trust_env = False  # the cluster is asked directly, as Ray's own client does it
            if self._token is not None:
                session.headers["Authorization"] = f"Bearer {self._token.get_secret_value()}"
        return session


def _said(answer: requests.Response) -> str:
    """The last line of an answer, for Ray sends whole tracebacks."""
    lines = [line for line in answer.text.strip().splitlines() if line.strip()]
    return f"{lines[-1][:300] if lines else 'nothing'} ({answer.status_code})"
