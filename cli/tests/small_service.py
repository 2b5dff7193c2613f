"""Replaces any service of the stack in tests; its arguments say which one. Standard library only.

Crashes at start while the file `<home>/crash.<service>` exists, refuses to work while `<home>/refuse.<service>` does,
and ignores SIGTERM while `<home>/deaf.<service>` does. It imports little, for a hundred of it are started.
"""

import json
import os
import pathlib
import signal
import socket
import sys

HOME = pathlib.Path(os.environ["MOSAIC_HOME"])


def serve(port: int) -> None:
    """Answer each request with whether the stack is ready."""
    with socket.create_server(("127.0.0.1", port)) as server:
        while True:
            connection, _ = server.accept()
            with connection:
                connection.sendall(answer(connection.recv(65536)))


def answer(request: bytes) -> bytes:
    crashing = any(HOME.glob("crash.*")) or any(HOME.glob("refuse.*"))
    services = {"scheduler": True, "recorder": True}
    body = json.dumps({"ready": not crashing, "services": services})
    refused = crashing and request.split(b" ", 2)[1:2] == [b"/readyz"]
    status = "503 Service Unavailable" if refused else "200 OK"
    return f"HTTP/1.0 {status}\r\n\r\n{body}".encode()


def greet(port: int) -> None:
    with socket.create_server(("127.0.0.1", port)) as server:
        while True:
            connection, _ = server.accept()
            with connection:
                connection.sendall(b'INFO {"jetstream":true}\r\n')


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
