"""`python -m mosaic_servicekit.provision`: what the stack in containers needs on its volume before it starts.

Each service gets a folder of its own with its own secret, so that it can be mounted without the others'. Safe to run
again: keys are made once and kept.
"""

import argparse
import sys
from pathlib import Path

from mosaic_contracts.launch import DOORS_DIR
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


def main() -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m mosaic_servicekit.provision")
    parser.add_argument("--host", default="0.0.0.0", help="where the broker listens")  # noqa: S104
    host = parser.parse_args().host
    home = ServiceSettings.load().home
    try:
        provision(home, host)
    except PermissionError as error:
        sys.stderr.write(
            f"{error.filename} cannot be written: the volume belongs to somebody else. "
            "It must be writable for uid 10001.\n"
        )
        return 1
    except CredentialsInvalid as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write("provisioned: keys, credentials and the broker's configuration are there\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
