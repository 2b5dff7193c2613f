"""Requests about the stack: its services, workers, machine, secrets and tickets."""

import json
from typing import NamedTuple

from mosaic_client.answer import HttpAnswer
from mosaic_client.call import Call, body_of, query_of, typed
from mosaic_contracts import http_api
from mosaic_contracts.access import SecretEntries, SecretEntry, Ticket, TicketRequest
from mosaic_contracts.gpus import GpuReport
from mosaic_contracts.machine import MachineHistory
from mosaic_contracts.services import WorkerEntries, WorkerEntry
from mosaic_contracts.stack import StackStatus


class Readiness(NamedTuple):
    """Answer of `/readyz`."""

    ready: bool
    findings: list[str]


def ready() -> Call[Readiness]:
    """Whether every service is there, and what is missing."""
    return Call("GET", http_api.READY.path, _read_readiness, expects_problem=True)


def stack() -> Call[StackStatus]:
    """How the services are."""
    return typed(http_api.STACK)


def prometheus() -> Call[str]:
    """The gateway's own measurements in Prometheus' text format."""
    return Call.of(http_api.PROMETHEUS, read=lambda answer: answer.text)


def workers() -> Call[WorkerEntries]:
    """Registered workers."""
    return typed(http_api.WORKERS)


def worker(worker_id: str) -> Call[WorkerEntry]:
    """One worker with its description."""
    return typed(http_api.WORKER, worker_id)


def machine(last: int | None = None) -> Call[MachineHistory]:
    """How busy the machine and each run were, the newest of the `last` samples at the end."""
    return typed(http_api.MACHINE, query=query_of(last=last))


def gpus() -> Call[GpuReport]:
    """GPUs, the runs that have leased them, and who else uses them."""
    return typed(http_api.GPUS)


def secrets() -> Call[list[SecretEntry]]:
    """Which secrets are kept; never what they are."""
    return Call.of(http_api.SECRETS, read=_read_secrets)


def set_secret(name: str, value: str) -> Call[SecretEntry]:
    """Keep a secret under `name`, instead of what was kept there. Runs get it as a file; nobody is shown it again."""
    body = json.dumps({"value": value}).encode()
    return typed(http_api.SET_SECRET, name, body=body)


def delete_secret(name: str) -> Call[None]:
    """Delete a secret. Runs that have it keep it; those that wait for it will not start."""
    return typed(http_api.DELETE_SECRET, name)


def ticket(path: str, ttl_s: float = 300) -> Call[Ticket]:
    """A link for what cannot send the token (browser, video player), good for `ttl_s` seconds.

    `path` is what it opens below `/api/v1`, e.g. `/runs/<id>/artifacts/videos/1.mp4`.
    """
    body = body_of(TicketRequest(path=path, ttl_s=ttl_s))
    return typed(http_api.TICKET, body=body)


def _read_secrets(answer: HttpAnswer) -> list[SecretEntry]:
    return SecretEntries.model_validate_json(answer.content).secrets


def _read_readiness(answer: HttpAnswer) -> Readiness:
    if answer.status_code not in (200, 503):
        raise ValueError(f"status {answer.status_code}")
    body = answer.json()
    found = body.get("findings", []) if isinstance(body, dict) else []
    words = [str(f.get("message", f)) if isinstance(f, dict) else str(f) for f in found]
    return Readiness(answer.status_code == 200, words)
