"""A local stand-in of the W&B server, as far as wandb 0.31 calls it for runs. Standard library only.

The requests were logged once from a real wandb 0.31.0 against a local HTTP server: `POST /graphql` with the operations
in `_ANSWERS`, `POST /files/ENTITY/PROJECT/RUN/file_stream`, and `PUT` of files to the addresses that `CreateRunFiles`
answers. It keeps what was sent, so that a test can compare it, and it fails on request.

Example:
    >>> with WandbServer() as server:
    ...     server.url.startswith("http://127.0.0.1:")
    True
"""

import base64
import gzip
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any
from urllib.parse import unquote, urlsplit

from mosaic_contracts.compat import Self

ENTITY = "someone"
"""Entity of the key's owner: where runs go that name none."""
_HISTORY, _SUMMARY, _OUTPUT = "wandb-history.jsonl", "wandb-summary.json", "output.log"
_Variables = dict[str, Any]


@dataclass
class ReceivedRun:
    """What the server received of one run."""

    id: str
    project: str
    entity: str
    fields: dict[str, Any] = field(default_factory=dict)
    """Variables of its `UpsertBucket` requests, later ones over earlier ones; without those that were null."""
    config: dict[str, Any] = field(default_factory=dict)
    history: dict[int, dict[str, Any]] = field(default_factory=dict)
    """Rows by their number."""
    summary: dict[str, Any] = field(default_factory=dict)
    output: dict[int, str] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    exit_code: int | None = None
    """None: it has not finished."""

    def curve(self, name: str) -> list[float]:
        """The values of a metric in the order of the rows."""
        return [row[name] for _, row in sorted(self.history.items()) if name in row]


class _QuietServer(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, _request: Any, _client_address: Any) -> None:
        """A client that resets its connection when it ends is no fault of a test."""


class WandbServer:
    """The server in a thread of its own, which serves as an HTTP proxy too. It is also a context manager.

    Args:
        key: the only API key that it accepts; None: any.
    """

    def __init__(self, key: str | None = None) -> None:
        self.key = key
        self.runs: dict[str, ReceivedRun] = {}
        self.operations: list[str] = []
        """GraphQL operations and paths in the order of the requests."""
        self.keys: set[str] = set()
        """API keys of the requests."""
        self.fails_with: int | None = None
        """HTTP status of every answer, e.g. 500; None: it works."""
        self.held: str | None = None
        """Operation whose requests wait for `release`; None: none waits."""
        self.stopped: set[str] = set()
        """Runs whose user asked for a stop at the run's page."""
        self.artifacts: dict[str, dict[str, Any]] = {}
        """Variables of `CreateArtifact` by the artifact's id; `state` is `PENDING` or `COMMITTED`."""
        self.artifact_files: dict[str, bytes] = {}
        self.received = threading.Condition()
        """Notified after every request."""
        self._server = _QuietServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.daemon = True
        self._thread.start()

    @property
    def url(self) -> str:
        """Its address, for `WANDB_BASE_URL`."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def run(self) -> ReceivedRun:
        """The only run that it received."""
        (run,) = self.runs.values()
        return run

    def wait_for(self, holds: Callable[[], bool], timeout_s: float = 60.0) -> bool:
        """Wait until something holds of what was received; return whether it does."""
        with self.received:
            return self.received.wait_for(holds, timeout_s)

    def release(self) -> None:
        """Answer what is held."""
        with self.received:
            self.held = None
            self.received.notify_all()

    def close(self) -> None:
        """Stop: connections are refused from here on, and those that are open get status 503."""
        self.fails_with = 503
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.close()

    def answer(self, method: str, path: str, key: str, body: bytes) -> tuple[int, Any]:
        """Take one request and return status and answer."""
        with self.received:
            self.received.wait_for(lambda: self.held is None or self.held.encode() not in body)
            try:
                return self._answer(method, unquote(urlsplit(path).path), key, body)
            finally:
                self.received.notify_all()

    def _answer(self, method: str, path: str, key: str, body: bytes) -> tuple[int, Any]:
        request = json.loads(body) if path == "/graphql" else {}
        operation = request.get("operationName") or path
        self.operations.append(operation)
        self.keys.add(key)
        if self.fails_with is not None:
            return self.fails_with, {"errors": [{"message": "the stand-in was asked to fail"}]}
        if self.key is not None and key != self.key and not path.startswith("/storage/"):
            return 401, {"errors": [{"message": "user is not logged in"}]}
        if request:
            make = _ANSWERS.get(operation)
            given = request.get("variables") or {}
            given = {**given, **(given.get("input") or {})}
            return 200, {"data": make(self, given) if make else {}}
        if path.startswith("/files/") and path.endswith("/file_stream"):
            return 200, self._take_stream(path.split("/")[4], json.loads(body))
        if method == "PUT" and path.startswith("/storage/run/"):
            _, _, _, run_id, name = path.split("/", 4)
            self.runs[run_id].files[name] = body
            return 200, {}
        if method == "PUT" and path.startswith("/storage/artifact/"):
            self.artifact_files[path.removeprefix("/storage/artifact/")] = body
            return 200, {}
        return 404, {"error": f"the stand-in has no {method} {path}"}

    def _take_stream(self, run_id: str, body: dict[str, Any]) -> dict[str, Any]:
        run = self.runs[run_id]
        for name, part in (body.get("files") or {}).items():
            rows = part.get("content", [])
            if name == _HISTORY:
                run.history |= {part["offset"] + n: json.loads(row) for n, row in enumerate(rows)}
            elif name == _SUMMARY:
                run.summary = json.loads(rows[-1])
            elif name.endswith(_OUTPUT):
                run.output |= {part["offset"] + n: row for n, row in enumerate(rows)}
        if body.get("complete"):
            run.exit_code = body.get("exitcode")
        return {"stopped": run_id in self.stopped}

    def upsert_run(self, given: _Variables) -> dict[str, Any]:
        """Make or change a run."""
        run_id = given["name"]
        is_new = run_id not in self.runs
        project, entity = given.get("project") or "uncategorized", given.get("entity") or ENTITY
        run = self.runs.setdefault(run_id, ReceivedRun(run_id, project, entity))
        run.fields |= {name: value for name, value in given.items() if value is not None}
        if given.get("config"):
            parts = json.loads(given["config"])
            run.config |= {name: part["value"] for name, part in parts.items()}
        owner = {"id": "RW50aXR5", "name": run.entity}
        bucket = {
            "id": base64.b64encode(f"Run:v1:{run_id}".encode()).decode(),
            "name": run_id,
            "displayName": run.fields.get("displayName") or run_id,
            "description": "",
            "config": "{}",
            "sweepName": None,
            "project": {"id": "UHJvamVjdA==", "name": run.project, "entity": owner},
            "historyLineCount": len(run.history),
        }
        return {"upsertBucket": {"bucket": bucket, "inserted": is_new}}

    def resume_status(self, given: _Variables) -> dict[str, Any]:
        """How much there is of a run."""
        run = self.runs.get(given["name"])
        if run is None or (run.project, run.entity) != (
            given["project"],
            given["entity"] or ENTITY,
        ):
            return {"model": None}
        return {"model": {"bucket": {"historyLineCount": len(run.history)}}}

    def create_files(self, given: _Variables) -> dict[str, Any]:
        """Say where files of a run are sent to."""
        run_id = given["run"]
        files = [
            {"name": name, "uploadUrl": f"{self.url}/storage/run/{run_id}/{name}"}
            for name in given["files"]
        ]
        return {"createRunFiles": {"runID": run_id, "uploadHeaders": [], "files": files}}

    def create_artifact(self, given: _Variables) -> dict[str, Any]:
        """Make an artifact, which is committed later. One with this digest that its collection has is that one."""
        same = [
            name
            for name, known in self.artifacts.items()
            if all(known[part] == given[part] for part in ("artifactCollectionName", "digest"))
        ]
        artifact_id = same[0] if same else f"artifact-{len(self.artifacts) + 1}"
        known = self.artifacts.setdefault(artifact_id, {**given, "state": "PENDING"})
        sequence = {"id": "U2VxdWVuY2U=", "latestArtifact": None}
        artifact = {"id": artifact_id, "state": known["state"], "artifactSequence": sequence}
        return {"createArtifact": {"artifact": artifact}}

    def create_manifest(self, given: _Variables) -> dict[str, Any]:
        """Say where the manifest of an artifact is sent to."""
        name = f"{given['artifactID']}/{given['name']}"
        file = {"id": name, "uploadUrl": f"{self.url}/storage/artifact/{name}", "uploadHeaders": []}
        manifest = {"id": f"{name}#manifest", "file": file}
        return {"createArtifactManifest": {"artifactManifest": manifest}}

    def create_artifact_files(self, given: _Variables) -> dict[str, Any]:
        """Say where the files of artifacts are sent to."""
        edges = []
        for file in given["artifactFiles"]:
            name = f"{file['artifactID']}/{file['name']}"
            node = {
                "id": name,
                "name": file["name"],
                "displayName": file["name"],
                "artifact": {"id": file["artifactID"]},
                "uploadUrl": f"{self.url}/storage/artifact/{name}",
                "uploadHeaders": [],
                "storagePath": f"wandb_artifacts/{name}",
                "uploadMultipartUrls": None,
            }
            edges.append({"node": node})
        return {"createArtifactFiles": {"files": {"edges": edges}}}

    def commit_artifact(self, given: _Variables) -> dict[str, Any]:
        """Complete an artifact."""
        artifact_id = given["artifactID"]
        self.artifacts[artifact_id]["state"] = "COMMITTED"
        return {"commitArtifact": {"artifact": {"id": artifact_id, "digest": ""}}}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class WandbRequestHandler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                """The requests are kept by the server."""

            def _serve(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                key = _key_of(self.headers.get("Authorization") or "")
                status, answer = server.answer(self.command, self.path, key, body)
                data = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_PUT = _serve  # noqa: N815 - names of the standard library

        return WandbRequestHandler


def _key_of(authorization: str) -> str:
    """The key of a Basic authorization, whose user is `api`."""
    kind, _, encoded = authorization.partition(" ")
    return base64.b64decode(encoded).decode().partition(":")[2] if kind == "Basic" else ""


_ANSWERS: dict[str, Callable[[WandbServer, _Variables], dict[str, Any]]] = {
    "Viewer": lambda _, __: {
        "viewer": {
            "id": "VXNlcg==",
            "entity": ENTITY,
            "username": ENTITY,
            "email": f"{ENTITY}@example.org",
            "flags": "{}",
            "teams": {"edges": []},
        }
    },
    "UpsertBucket": WandbServer.upsert_run,
    "RunResumeStatus": WandbServer.resume_status,
    "OrganizationCoreWeaveOrganizationID": lambda _, __: {"entity": {"organization": None}},
    "ServerFeaturesQuery": lambda _, __: {"serverInfo": {"features": []}},
    "CreateRunFiles": WandbServer.create_files,
    "RunStoppedStatus": lambda server, given: {
        "project": {"run": {"stopped": given.get("runId") in server.stopped}}
    },
    "CreateArtifact": WandbServer.create_artifact,
    "CreateArtifactManifest": WandbServer.create_manifest,
    "CreateArtifactFiles": WandbServer.create_artifact_files,
    "CommitArtifact": WandbServer.commit_artifact,
}


def main() -> None:
    """Serve until the standard input ends; the first line of output is the address. For tests in other processes."""
    import sys

    with WandbServer() as server:
        print(server.url, flush=True)  # noqa: T201 - its reader is a test
        sys.stdin.read()


if __name__ == "__main__":
    main()
