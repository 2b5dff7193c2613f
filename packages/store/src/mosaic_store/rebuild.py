"""Make the rows of files and evaluations again from the stored events, while no recorder runs.

python -m mosaic_store.rebuild MOSAIC_HOME/db/telemetry.sqlite3
"""

import sys
from pathlib import Path

from mosaic_store.writer import open_writer


def main() -> None:
    """Rebuild the store that the command line names."""
    with open_writer(Path(sys.argv[1])) as writer:
        writer.rebuild_files()


if __name__ == "__main__":
    main()
