"""Reply of `GET /runs/{run_id}/curves`: many curves of one moment, for a client that draws them and goes on live.

The reply is msgpack (`application/msgpack`) of a `CurveSet`: a column is the bytes of little-endian 64-bit floats,
which a client takes over as they are. It is read in one transaction, so that a subscription from `cursor` goes on
exactly where the curves end.
"""

from pydantic import Field

from mosaic_contracts.models import PeerModel

EPISODE_RETURN = "episode/return"
EPISODE_LENGTH = "episode/length"
"""Name of the curve of episode lengths. It is requested like a metric."""
EPISODE_CURVES = (EPISODE_RETURN, EPISODE_LENGTH)

MAX_CURVES = 16
"""Maximum number of names in one request."""
WHOLE_POINTS = 10_000
"""Maximum number of points of a curve that is sent whole. A longer curve is reduced to buckets."""
POINT_COLUMNS = ("step", "t", "value")
"""Columns of a whole curve, in the order in which the points were recorded. `step` is NaN where a point has none."""
BUCKET_COLUMNS = ("step0", "step1", "t0", "t1", "n", "min", "max", "mean", "last", "odd")
"""Columns of a reduced curve, by step: first and last step and time, points, and lowest, highest and mean of its finite
values (NaN without one); `last` as it was; `odd`: how many are NaN or infinite. Times lie between those of points that
were looked at. The steps of points without any are their positions in the series."""


class DrawnCurve(PeerModel):
    """One curve."""

    name: str
    points: int
    """Number of points in the requested range, before reduction."""
    reduced: bool
    stepless: bool = False
    """Whether steps of a reduced curve are positions, because its points have no steps."""
    passes: list[int] = Field(default_factory=list)
    """For a reduced curve whose steps go back: the first row of each pass over the steps, for all passes of the whole
    curve. Rows are then by pass and step. A pass without a row in the asked range has the number of the next one.
    Empty: one pass, or more of them than 64 or than half of the buckets."""
    columns: dict[str, bytes]
    """Columns named in POINT_COLUMNS, or in BUCKET_COLUMNS for a reduced curve."""


class CurveSet(PeerModel):
    """Several curves of one moment, and the cursor of that moment."""

    run_id: str
    names: list[str]
    """Names of all curves that the run has."""
    cursor: str
    """Position of the newest events in the store (see `mosaic_contracts.cursor`)."""
    curves: list[DrawnCurve]
    """The requested curves, as far as they exist."""
