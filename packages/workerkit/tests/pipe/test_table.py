"""Tables of training libraries."""

import pytest

from mosaic_workerkit.pipe.table import PrintedTable

SB3 = """\
| rollout/           |          |
|    ep_len_mean     | 21       |
|    ep_rew_mean     | 21.5     |
| time/              |          |
|    fps             | 1001     |
|    total_timesteps | 2048     |
| train/             |          |
|    loss            | 1.2e+03  |
|    note            | a b      |
"""
SPINNING_UP = """\
|             Epoch |               0 |
|      AverageEpRet |            21.2 |
|         StdEpRet  |             nan |
| TotalEnvInteracts |        4.00e+03 |
"""


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        (
            SB3,
            {
                "global_step": 2048,
                "rollout/ep_len_mean": 21,
                "rollout/ep_rew_mean": 21.5,
                "time/fps": 1001,
                "train/loss": 1200.0,
                "train/note": "a b",
            },
        ),
        (SPINNING_UP, "{'global_step': 4000.0, 'Epoch': 0, 'AverageEpRet': 21.2, 'StdEpRet': nan}"),
        ("| Layer | Size |\n| fc1 | 64 |\n", None),
    ],
)
def test_blocks(text: str, fields: object) -> None:
    """Rows of a block become fields under their section; a block without a step is text."""
    table = PrintedTable()
    for line in text.splitlines():
        assert table.take(line)
    assert table.is_open
    for border in ("-" * 33, "| a | b | c |", "text"):
        assert not table.take(border)
    got = table.close()
    assert got == fields or repr(got) == fields
    assert not table.is_open


def test_an_endless_table_costs_bounded_memory() -> None:
    """A block that never ends is cut."""
    table = PrintedTable()
    assert [table.take(f"| k{i} | 1 |") for i in range(3000)].count(True) == 1000
