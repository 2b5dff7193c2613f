"""`python -m mosaic_servicekit.provision`: what the stack in containers needs on its volume before it starts.

Each service gets a folder of its own with its own secret, so that it can be mounted without the others'. Safe to run
again: keys are made once and kept.
"""

import argparse
import os
import sys
from pathlib import Path

from mosaic_contracts import VERSION
from mosaic_contracts.launch import DOORS_DIR
from mosaic_contracts.stack_files import UPLOADS_DIR
from mosaic_servicekit.broker import init_broker
from mosaic_servicekit.credentials import creds_path, write_secret
from mosaic_servicekit.errors import CredentialsInvalid
from mosaic_servicekit.settings import ServiceSettings

PORT, MONITOR_PORT = 4222, 8222
STORE = Path("/var/lib/mosaic/nats")
"""Where the broker's container has its streams."""
FOLDERS = (
    "db/telemetry",
    DOORS_DIR,
    "nats/config",
    "nats/store",
    "runs",
    "secrets/gateway",
    UPLOADS_DIR,
    "xmpp",
)


def provision(home: Path, host: str) -> None:
    """Make folders, keys, credentials and the broker's configuration.

    Raises:
        CredentialsInvalid: the key file is damaged.
        OSError: the volume cannot be written.
    """
    for folder in FOLDERS:
        (home / folder).mkdir(parents=True, exist_ok=True)
    init_broker(home, PORT, MONITOR_PORT, host, STORE)
    for name in ("recorder", "gateway"):
        source = creds_path(home, name)
        write_secret(home / "secrets" / name / f"{name}.creds", source.read_text())


def _owner_words(home: Path, refused: str) -> str:
    """Why the volume cannot be written, and how it can be."""
    has, uid, gid = home.stat(), os.getuid(), os.getgid()
    volume = os.environ.get("MOSAIC_ENGINE_VOLUME", "VOLUME")
    return (
        f"{refused} cannot be written: {home} belongs to uid {has.st_uid}, and the services run as uid {uid}. "
        f"For a new volume set MOSAIC_UID={uid} and MOSAIC_GID={gid} (in .env) and build the images again. "
        f"To give this volume to that uid: docker run --rm --user 0 --entrypoint chown -v {volume}:{home} "
        f"localhost/mosaic/scheduler:{VERSION} -R {uid}:{gid} {home}"
    )


def main() -> int:
    """Run as a program."""
    parser = argparse.ArgumentParser(prog="python -m mosaic_servicekit.provision")
    parser.add_argument("--host", default="0.0.0.0", help="where the broker listens")  # noqa: S104
    host = parser.parse_args().host
    home = ServiceSettings.load().home
    try:
        provision(home, host)
    except PermissionError as error:
        sys.stderr.write(f"{_owner_words(home, str(error.filename))}\n")
        return 1
    except CredentialsInvalid as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write("provisioned: keys, credentials and the broker's configuration are there\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
