"""Program that holds a key in a play until it is killed: `person.py URL TOKEN_FILE RUN`.

It writes a line once a step has known the key.
"""

import sys
from pathlib import Path

from mosaic_client import Client, Location


def main() -> None:
    """Hold `right`."""
    url, token_file, run_id = sys.argv[1:]
    location = Location(url=url, token=Path(token_file).read_text().strip())
    with Client(location) as client, client.act(run_id) as session:
        session.frame()
        number = session.hold("right")
        session.frame(after=number)
        sys.stdout.write("holds\n")
        sys.stdout.flush()
        while True:
            session.frame()


if __name__ == "__main__":
    main()
