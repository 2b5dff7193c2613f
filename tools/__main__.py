"""What `./mosaic` starts: `python tools VERB ...`."""

from command import run

run()
