"""Turn a terminal's screen (ANSI on stdin) into the SVG picture of the README.

`tmux capture-pane -pe | <venvs>/cli/bin/python tools/picture.py TITLE WIDTH FILE`
"""

import re
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text


def main(title: str, width: str, target: str) -> None:
    """Draw stdin; fonts that the SVG would fetch from elsewhere are left out."""
    console = Console(record=True, width=int(width), file=sys.stderr, force_terminal=True)
    console.print(Text.from_ansi(sys.stdin.read().rstrip()))
    svg = console.export_svg(title=title)
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    Path(target).write_text(svg + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
