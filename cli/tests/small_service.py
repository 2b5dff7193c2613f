"""Replaces any service of the stack in tests; its arguments say which one. Standard library only.

Crashes at start while the file `<home>/crash.<service>` exists, refuses to work while `<home>/refuse.<service>` does,
and ignores SIGTERM while `<home>/deaf.<service>` does.
"""

import http.server
import json
import os
import pathlib
import signal
import socketserver
import sys

HOME = pathlib.Path(os.environ["MOSAIC_HOME"])


class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        crashing = any(HOME.glob("crash.*")) or any(HOME.glob("refuse.*"))
        body = json.dumps(
            {"ready": not crashing, "services": {"scheduler": True, "recorder": True}}
        )
        self.send_response(503 if crashing and self.path == "/readyz" else 200)
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: object) -> None:
        pass


def serve(port: int) -> None:
    http.server.ThreadingHTTPServer(("127.0.0.1", port), Answer).serve_forever()


class Greeting(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        self.request.sendall(b'INFO {"jetstream":true}\r\n')


def greet(port: int) -> None:
    socketserver.ThreadingTCPServer.allow_reuse_address = True
    socketserver.ThreadingTCPServer(("127.0.0.1", port), Greeting).serve_forever()


def main() -> None:
    argv = sys.argv[1:]
    if "-m" in argv:
        argv = argv[argv.index("-m") :]  # the options of the interpreter come first
    if argv[:3] == ["-m", "mosaic_servicekit.broker", "init"]:
        config = HOME / "nats" / "config" / "nats.conf"
        config.parent.mkdir(parents=True, exist_ok=True)
        config.write_text(argv[argv.index("--port") + 1])
        return
    name = "broker" if argv[0] == "-c" else argv[1].removeprefix("mosaic_")
    if (HOME / f"crash.{name}").exists():
        sys.exit(f"{name} says why it cannot start")
    if (HOME / f"refuse.{name}").exists():
        print(json.dumps({"event": "service.refused", "message": "The file is newer. Update."}))
        sys.exit(78)
    deaf = (HOME / f"deaf.{name}").exists()
    signal.signal(signal.SIGTERM, signal.SIG_IGN if deaf else lambda *_: os._exit(0))
    if name == "broker":
        greet(int(pathlib.Path(argv[1]).read_text()))
    if name == "gateway":
        token = HOME / "secrets" / "gateway.token"
        token.parent.mkdir(exist_ok=True)
        token.write_text("secret")
        serve(int(os.environ["MOSAIC_GATEWAY_PORT"]))
    while True:
        signal.pause()


main()
