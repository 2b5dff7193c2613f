"""Build or serve the documentation site: `python docs/src/build_site.py [--serve] [--to FOLDER]`."""

import argparse
import os
import subprocess
import sys
from pathlib import Path

from code_paths import ROOT

SITE = ROOT / "var" / "site"


def main(arguments: list[str] | None = None) -> int:
    """Run the site generator; return 0 when every page and link is sound."""
    parser = argparse.ArgumentParser(prog="docs", description="Build the documentation site.")
    parser.add_argument(
        "--serve",
        action="store_true",
        help="serve it on 127.0.0.1:8000, and build it again after each change",
    )
    parser.add_argument(
        "--to", type=Path, default=SITE, help="folder for the site (default: var/site)"
    )
    asked = parser.parse_args(arguments)
    verb = ["serve"] if asked.serve else ["build", "--site-dir", str(asked.to.resolve())]
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        *verb,
        "--strict",
        "--config-file",
        str(ROOT / "mkdocs.yml"),
    ]
    # the theme's notice about another program is no fault of a page
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
