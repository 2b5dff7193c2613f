"""Prints the figures of rliable with which `test_statistics.py` compares; rliable is no dependency.

    uv run --no-project --with 'rliable==1.2.0' --with 'pandas<3' python analysis/tests/against_rliable.py

It draws from NumPy's global generator and not from the one that it is given, so that the ends of intervals differ by
their resampling.
"""

import numpy as np

FIRST = np.array(
    [[0.40, 0.3], [0.62, 0.5], [1.00, 0.2], [0.96, 0.9], [0.59, 0.7], [0.82, 0.4], [1.00, 0.6], [0.24, 0.8]]
)  # fmt: skip
SECOND = np.array(
    [[0.20, 0.1], [0.62, 0.5], [0.44, 0.4], [0.70, 0.3], [0.30, 0.2], [0.80, 0.5], [0.18, 0.6], [0.52, 0.1]]
)  # fmt: skip


def main() -> None:
    """Print statistics and intervals."""
    from rliable import library, metrics  # type: ignore[import-not-found,unused-ignore]

    aggregates = [
        metrics.aggregate_mean,
        metrics.aggregate_median,
        metrics.aggregate_iqm,
        metrics.aggregate_optimality_gap,
    ]
    np.random.seed(1)
    print("improvement", metrics.probability_of_improvement(FIRST, SECOND))  # noqa: T201
    points, intervals = library.get_interval_estimates(
        {"first": FIRST}, lambda x: np.array([of(x) for of in aggregates]), reps=50_000
    )
    print("mean, median, IQM, gap", points, intervals)  # noqa: T201
    pair = {"pair": (FIRST, SECOND)}
    print(*library.get_interval_estimates(pair, metrics.probability_of_improvement, reps=20_000))  # noqa: T201


if __name__ == "__main__":
    main()
