"""Whether two trainings that are not identical could be two draws of the same thing."""

from typing import Any

from scipy import stats

from mosaic_contracts.comparisons import (
    FEWEST_EPISODES,
    LEVEL,
    SamenessDocument,
    SamenessResult,
)


def compare_trainings(document: SamenessDocument) -> SamenessResult:
    """Test whether returns come from one distribution, by the two-sample Kolmogorov-Smirnov test."""
    counts = [len(document.first), len(document.second)]
    if min(counts) < FEWEST_EPISODES:
        return SamenessResult(statistic=None, p_value=None, episodes=counts, is_same=False)
    found: Any = stats.ks_2samp(document.first, document.second)
    return SamenessResult(
        statistic=float(found.statistic),
        p_value=float(found.pvalue),
        episodes=counts,
        is_same=bool(found.pvalue >= LEVEL),
    )
