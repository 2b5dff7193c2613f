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
    """Answer of `/readyz`: whether the stack is ready, and what is missing."""

    ready: bool
    findings: list[str]


def ready() -> Call[Readiness]:
    """Report whether runs can be started and recorded now.

    Returns:
        `ready`, and in `findings` what is missing, with what to do.
    """
    return Call("GET", http_api.READY.path, _read_readiness, expects_problem=True)


def stack() -> Call[StackStatus]:
    """Report the state of every service.

    Returns:
        Status of broker, scheduler and recorder, and findings in words.
    """
    return typed(http_api.STACK)


def prometheus() -> Call[str]:
    """Fetch the gateway's metrics.

    Returns:
        Prometheus' text format.
    """
    return Call.of(http_api.PROMETHEUS, read=lambda answer: answer.text)


def workers() -> Call[WorkerEntries]:
    """List the registered workers.

    Returns:
        Each worker with its manifest and whether it is ready.
    """
    return typed(http_api.WORKERS)


def worker(worker_id: str) -> Call[WorkerEntry]:
    """Describe one worker.

    Args:
        worker_id: id or alias of the worker.

    Returns:
        The worker with its description: algorithms, their parameters, environments.

    Raises:
        SpecRefused: there is no such worker.
    """
    return typed(http_api.WORKER, worker_id)


def machine(last: int | None = None) -> Call[MachineHistory]:
    """Report how busy the machine and each run were.

    Args:
        last: number of newest samples; None: one.

    Returns:
        Samples of CPU, memory, disk and GPU, the newest last, and `interval_s`, the seconds between two.
    """
    return typed(http_api.MACHINE, query=query_of(last=last))


def gpus() -> Call[GpuReport]:
    """Report the GPUs.

    Returns:
        Each GPU and MIG slice with the runs that have leased it and others who use it.
    """
    return typed(http_api.GPUS)


def secrets() -> Call[list[SecretEntry]]:
    """List the names of stored secrets; values are never returned.

    Returns:
        One entry for each secret.
    """
    return Call.of(http_api.SECRETS, read=_read_secrets)


def set_secret(name: str, value: str) -> Call[SecretEntry]:
    """Store a secret, in place of an earlier one of that name. Runs get it as a file; nobody can read it back.

    Args:
        name: a letter, then letters, digits and underscores, up to 64 characters.
        value: the secret, 1 to 65,536 characters.

    Returns:
        Its entry, without the value.

    Raises:
        RequestRefused: name or value is not valid.
    """
    body = json.dumps({"value": value}).encode()
    return typed(http_api.SET_SECRET, name, body=body)


def delete_secret(name: str) -> Call[None]:
    """Delete a secret. Runs that have it keep it; runs that wait for it will not start.

    Args:
        name: name of the secret.

    Raises:
        SecretUnknown: there is no such secret.
    """
    return typed(http_api.DELETE_SECRET, name)


def ticket(path: str, ttl_s: float = 300) -> Call[Ticket]:
    """Create a link for programs that cannot send the token, such as a browser or video player.

    Args:
        path: what the link opens, below `/api/v1`, e.g. `/runs/<id>/artifacts/videos/1.mp4`.
        ttl_s: seconds until the link expires.

    Returns:
        Path and query of the link, and when it expires.

    Raises:
        RequestRefused: `path` or `ttl_s` is not valid.
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
