"""Types and limits of events with texts, histograms and images, for programs that read them without pydantic.

Data of such an event, each with `name` and `step` (an integer, or null):

- `media.text`: `text`, and `characters` where it was cut
- `media.histogram`: `edges` (ascending, one more than there are bins) and `counts`
- `media.image`: `path` of a PNG, JPEG, GIF or WebP file in the run's folder, `width`, `height`, `bytes`, and `caption`
"""

from __future__ import annotations

MEDIA_TEXT, MEDIA_HISTOGRAM, MEDIA_IMAGE = "media.text", "media.histogram", "media.image"
MEDIA_FAMILY = "media."
"""Beginning of the types of all such events; the rest is the kind."""
MEDIA_KINDS = ("text", "histogram", "image")
MEDIA_FOLDER = "media"
"""Folder of a run's images, in the run's folder."""
MAX_MEDIA_NAME = 300
"""Maximum length of a name, in characters."""
MAX_MEDIA_NAMES = 500
"""Maximum number of names of one run. What has another name is left out, with a note of the run."""
MAX_TEXT_CHARS = 65_536
"""Maximum length of a text, in characters. The rest is cut off, with a note of the run."""
MAX_BINS = 512
"""Maximum number of bins of a histogram. Neighbours are joined until there are no more."""
MAX_IMAGE_BYTES = 4 * 2**20
"""Maximum size of an image's file. A larger one is left out, with a note of the run."""
MAX_IMAGE_PIXELS = 4096 * 4096
"""Maximum number of pixels of an image. A larger one is left out, with a note of the run."""
MAX_RUN_IMAGE_BYTES = 512 * 2**20
"""Maximum size of all images of a run. Further ones are left out, with a note of the run."""
VALUES_OF_A_NAME = {"text": 500, "histogram": 1_000, "image": 200}
"""Values of one name, by kind, after which every second one is recorded; after as many more every fourth, and so on."""
ALL_EXTRAS = "*.*"
"""Event type that matches every namespaced event (`bdi.intention`, ...) except `media.text`, `media.histogram` and
`media.image`: a run may have megabytes of these. `GET /runs/{run_id}/media` finds them, and they can be named."""
