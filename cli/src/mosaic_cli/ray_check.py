"""What `doctor` says of a Ray cluster: whether its job API answers, and whether its nodes can take runs."""

import json
import re
from http import HTTPStatus
from typing import Any, NamedTuple
from urllib.error import HTTPError, URLError
from urllib.request import OpenerDirector, ProxyHandler, Request, build_opener

from mosaic_base.own_machine import first_elsewhere
from mosaic_cli.cluster_check import unreached_broker_text
from mosaic_contracts.worker import Finding

DEFAULT_ADDRESS = "http://127.0.0.1:8265"
OLDEST = (2, 8)
"""Older ones know no `entrypoint_memory` and refuse every job (ray-project/ray#39756)."""
_ADDRESS = re.compile(r"https?://[^\s/@]+/?")
_ANSWER_S = 20.0
_WHERE = "ray"


class RaySettings(NamedTuple):
    """How a stack uses a Ray cluster."""

    address: str
    """Address of its dashboard."""
    token: str
    """Token of a cluster that asks for one; empty: none is known here."""
    home: str
    """MOSAIC_HOME."""
    node_home: str
    """Folder of runs on the nodes; empty: they see MOSAIC_HOME at the same path."""
    is_broker_open: bool
    """Whether the broker listens on more than loopback."""


class _NotAnswered(Exception):
    """Ray did not answer as it should; the message says how."""


def ray_findings(settings: RaySettings) -> list[Finding]:
    """Findings of the cluster that a stack starts its runs on."""
    if not _ADDRESS.fullmatch(settings.address):
        return [
            _blocking(
                f"{settings.address} is no address of a dashboard; give one such as {DEFAULT_ADDRESS} "
                "(`--ray-address`)."
            )
        ]
    try:
        version = _ask(settings, "/api/version").get("ray_version")
        if not isinstance(version, str):
            raise _NotAnswered("it is no dashboard of Ray")
        raylets = [
            one["raylet"] for one in _ask(settings, "/nodes?view=summary")["data"]["summary"]
        ]
        living = [one["nodeManagerAddress"] for one in raylets if one["state"] != "DEAD"]
    except (KeyError, TypeError) as error:
        return [_blocking(f"{settings.address} does not list its nodes ({error!r}).")]
    except _NotAnswered as error:
        words = f"the job API at {settings.address} does not answer: {error}. Live runs go on; none starts."
        return [_blocking(words)]
    found = [_version(version, settings.address)]
    if not living:
        return [*found, _warning("no node of the cluster lives: runs wait until one joins.")]
    return [*found, *_nodes(settings, first_elsewhere(dict.fromkeys(living)))]


def _version(version: str, address: str) -> Finding:
    numbers = re.match(r"(\d+)\.(\d+)", version)
    if numbers is not None and (int(numbers[1]), int(numbers[2])) < OLDEST:
        needed = ".".join(map(str, OLDEST))
        return _blocking(
            f"Ray {version} at {address} refuses the jobs of runs: Ray {needed} or newer is needed."
        )
    return _ok(f"Ray {version} answers at {address}")


def _nodes(settings: RaySettings, node: str) -> list[Finding]:
    """Whether runs can work on the nodes; `node`: one that is not this machine, empty: there is none."""
    found = []
    if settings.node_home and not settings.node_home.startswith("/"):
        found.append(
            _blocking(f"--node-home {settings.node_home}: a path that begins with / is needed.")
        )
    elif settings.node_home and not settings.is_broker_open:
        found.append(
            _blocking(
                "all that runs below --node-home make comes over the broker, and it listens on this machine alone. "
                "Start the stack with --broker-bind 0.0.0.0."
            )
        )
    elif settings.node_home:
        found.append(_ok(f"runs are below {settings.node_home} on their nodes"))
    elif node:
        found.append(
            _ok(
                f"nodes such as {node} must see {settings.home} at the same path; where they do not, start the stack "
                "with --node-home"
            )
        )
    if node and not settings.node_home and not settings.is_broker_open:
        found.append(_warning(unreached_broker_text(node)))
    return found


def _ask(settings: RaySettings, path: str) -> dict[str, Any]:
    request = Request(settings.address.rstrip("/") + path)
    if settings.token:
        request.add_header("Authorization", f"Bearer {settings.token}")
    try:
        with _direct().open(request, timeout=_ANSWER_S) as answer:
            found = json.load(answer)
    except HTTPError as error:
        if error.code in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            what = "the token is wrong" if settings.token else "it takes a token"
            raise _NotAnswered(f"{what} ({error.code}): set MOSAIC_RAY_TOKEN") from error
        raise _NotAnswered(f"HTTP {error.code}") from error
    except URLError as error:
        raise _NotAnswered(str(error.reason)) from error
    except (OSError, ValueError) as error:
        raise _NotAnswered(str(error) or type(error).__name__) from error
    if not isinstance(found, dict):
        raise _NotAnswered("it is no dashboard of Ray")
    return found


def _direct() -> OpenerDirector:
    """Without a proxy, as the scheduler asks it."""
    return build_opener(ProxyHandler({}))


def _ok(message: str) -> Finding:
    return Finding(level="ok", where=_WHERE, message=message)


def _warning(message: str) -> Finding:
    return Finding(level="warning", where=_WHERE, message=message)


def _blocking(message: str) -> Finding:
    return Finding(level="blocking", where=_WHERE, message=message)
