"""A gateway in this process that has recorded episodes and replays them: each step is a picture of its own grey."""

import json
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.net.frames_stub import frame, raw
from tests.specimen import run, run_id

from mosaic_contracts.frames import MAX_PAGE_FRAMES, EpisodeFrames, encode_frame, encode_page
from mosaic_contracts.replays import ReplayResult, ReplaySource, StepDifference
from mosaic_contracts.states import RunState
from mosaic_gui.net.location import StackLocation

RUN = run_id(0)
STEPS = 40


def replay_id(n: int) -> str:
    """The n-th replay, from 1."""
    return run_id(1000 + n)


class ReplayGateway:
    """Answers requests on a thread of its own. What a test sets holds for all that follow."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        """Method and path below the prefix."""
        self.bodies: list[dict[str, Any]] = []
        """Bodies of requests for replays."""
        self.frames_asked: list[tuple[int, int, int]] = []
        """First, last and every of each request for frames."""
        self.state = RunState.RUNNING
        """State of the newest replay."""
        self.has_result = True
        self.difference: StepDifference | None = None
        self.problem: dict[str, Any] | None = None
        """Answer to a request for a replay."""
        self.frames_problem: dict[str, Any] | None = None
        self.steps = STEPS
        self.has_grid = False
        self.started = 0
        self.page_episodes = 3
        self.episodes = [self._row(n, float(n * (6 - n))) for n in range(8)]
        gateway = self

        class Handler(BaseHTTPRequestHandler):
            def handle_any(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(length)) if length else {}
                split = urlsplit(self.path)
                path = split.path.removeprefix("/api/v1")
                gateway.asked.append((self.command, path))
                query = {name: values[0] for name, values in parse_qs(split.query).items()}
                status, answer = gateway.answer(self.command, path, query, body)
                data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                with suppress(OSError):  # the client has gone
                    self.wfile.write(data)

            def do_GET(self) -> None:
                self.handle_any()

            def do_POST(self) -> None:
                self.handle_any()

            def log_message(self, *_args: object) -> None:
                """Silence: what was asked is kept."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        url = f"http://127.0.0.1:{self._server.server_port}"
        self.location = StackLocation(url, "secret")
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.01,), daemon=True
        )
        self._thread.start()

    def count(self, method: str, end: str) -> int:
        """How often this was asked."""
        return sum(asked == method and path.endswith(end) for asked, path in list(self.asked))

    def close(self) -> None:
        """End the thread."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(
        self, method: str, path: str, query: dict[str, str], body: dict[str, Any]
    ) -> tuple[int, Any]:
        """Status and body of one answer."""
        end = path.rpartition("/")[2]
        if method == "POST":
            return self._start(body) if end == "replays" else (200, self._replay())
        match end:
            case "episodes":
                return 200, self._page(query)
            case "steps":
                return 200, {"events": self._steps(), "cursor": "", "has_more": False}
            case "events":
                return 200, {"events": self._events(query), "cursor": "", "has_more": False}
            case "replays":
                return 200, self._replays()
            case "frames":
                return self._frames(query)
        return 404, {"code": "not_found", "title": "No such path", "status": 404}

    def _start(self, body: dict[str, Any]) -> tuple[int, Any]:
        self.bodies.append(body)
        if self.problem is not None:
            return self.problem["status"], self.problem
        self.started += 1
        self.state = RunState.RUNNING
        return 201, self._replay()

    def _replay(self) -> dict[str, Any]:
        spec = {"kind": "replay", "parent": RUN}
        made = run(0, self.state, run_id=replay_id(self.started), spec=spec)
        return made.model_dump(mode="json")

    def _replays(self) -> list[dict[str, Any]]:
        source = ReplaySource(run_id=RUN, attempt=1, env=0, episode=0)
        equal = self.steps if self.difference is None else self.difference.step - 1
        result = ReplayResult(
            source=source,
            way="generator",
            steps=self.steps,
            equal=equal,
            first_difference=self.difference,
            fps=20.0,
        )
        shown = result.model_dump(mode="json") if self.has_result else None
        return [{"run": self._replay(), "result": shown}]

    def _frames(self, query: dict[str, str]) -> tuple[int, Any]:
        first, last, every = (int(query[name]) for name in ("first", "last", "every"))
        self.frames_asked.append((first, last, every))
        if self.frames_problem is not None:
            return self.frames_problem["status"], self.frames_problem
        if self.state.is_final:
            return 409, {"code": "run_ended", "title": "The run has ended", "status": 409}
        shown = list(range(first, min(last, self.steps) + 1, every))[:MAX_PAGE_FRAMES]
        differs = self.difference.step if self.difference is not None else self.steps + 1
        frames = [
            encode_frame(
                frame(replay_id(self.started), n, is_exact=n < differs, **raw(6, 4, 1, n % 256))
            )
            for n in shown
        ]
        return 200, encode_page(EpisodeFrames(frames, None, self.steps))

    def _page(self, query: dict[str, str]) -> dict[str, Any]:
        """Pages of a few episodes, the newest first."""
        begin = int(query.get("cursor") or 0)
        newest = self.episodes[::-1]
        end = begin + self.page_episodes
        cursor = str(end) if end < len(newest) else None
        return {"episodes": newest[begin:end], "next_cursor": cursor}

    def _row(self, episode: int, value: float) -> dict[str, Any]:
        return {
            "attempt": 1,
            "env": 0,
            "episode": episode,
            "length": self.steps,
            "return": value,
            "terminated": True,
            "truncated": False,
            "recorded_steps": self.steps,
            "start_seq": 10 + 100 * episode,
        }

    def _steps(self) -> list[dict[str, Any]]:
        event = {"attempt": 1, "source": "worker", "env": 0, "episode": 0, "hash": "", "t": 0.0}
        start = event | {"type": "episode_start", "seq": 10, "reset": {"way": "generator"}}
        steps = [
            event
            | {"type": "step", "seq": 10 + n, "step": n, "action": n % 2, "reward": 1.0}
            | {"flags": int(n == self.steps), "actor": 0}
            for n in range(1, self.steps + 1)
        ]
        return [start, *steps]

    def _events(self, query: dict[str, str]) -> list[dict[str, Any]]:
        event = {"attempt": 1, "source": "worker", "t": 0.0}
        if query["types"] == "config":
            return [event | {"seq": 1, "type": "config", "data": {"num_envs": 1}}]
        change = {"env": 0, "added": ["a"], "removed": []}
        return [event | {"seq": n, "type": "bdi.belief", "data": change} for n in (15, 25, 900)]
