"""Lines of the usual forms take a shorter way; it must lead to the same events."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from tests.run_folder import RUN_ID, make_run_folder

from mosaic_contracts.wire import to_event
from mosaic_workerkit.outbox.unshipped import read_unshipped
from mosaic_workerkit.pipe import schema
from mosaic_workerkit.pipe.lines import OutputLine
from mosaic_workerkit.pipe.translation import Translator
from mosaic_workerkit.telemetry import Telemetry

LINES = [
    *(b'{"global_step": 5, "loss": 0.5, "n": 3}', b'{"step": 5, "global_step": 6, "loss": 1}'),
    *(b'{"global_step": 5.0, "loss": 0.5}', b'{"global_step": -1, "loss": 0.5}', b'{"loss": 0.5}'),
    *(b'{"global_step": 9007199254740993, "loss": 9223372036854775808}', b'{"step": 1, "x": 1e400}'),
    *(b'{"step": 1, "x": NaN}', b'{"step": 1, "x": "NaN", "y": true, "z": null, "l": [1]}'),
    *(b'{"step": 1, "type": 2}', b'{"step": 1, "type": "odd", "x": 1}', b'{"time/total_timesteps": 7, "x": 1}'),
    *(b'{"global_step": 7, "episodic_return": 4, "episodic_length": 2.0}',),
    *(b'{"global_step": 8, "episodic_return": NaN, "episodic_length": -1}', b'{"step": 1, "\\u00e9": 1}'),
    *(b"global_step=7, episodic_return=[45.]", b"global_step=7, episodic_return=-3", b"step=1 a=2"),
    *(b"step=1, a=-2.5e-3, b=[3.], c=4", b"step=1 a=1 b=2 c=3 d=4 e=5", b"step=1 a=2 of 3", b"step=1,a=2"),
    *(b"step=1 a=99999999999999999999", b"step=0001 a=2", b"global_step=1 step=2 a=nan", b"step=1.0 a=2"),
    *(b'{"type": "metric", "name": "m", "value": 2, "step": 3}', b'{"type": "metric", "name": "m", "value": "2"}'),
    *(b'{"type": "metric", "name": "", "value": 2}', b'{"type": "metric", "name": "m", "value": 2, "who": "me"}'),
    *(b'{"type": "episode_start", "seed": 3}', b'{"type": "step", "reward": 1, "action": [1, 2]}'),
    *(b'{"type": "step", "reward": 1.5, "observation": [0.5, 18446744073709551616]}', b'{"type": "step"}'),
    *(b'{"type": "step", "reward": 1, "step": 0}', b'{"type": "step", "reward": 1, "hash": "xy"}'),
    *(b'{"type": "episode", "return": 3, "terminated": true, "length": 4}',),
    *(b'{"type": "episode", "episodic_return": 1}',),
    *(b'{"type": "progress", "step": 9}', b'{"type": "log", "message": "hi"}', b'{"type": "a.b", "x": 1}'),
    *(b'{"a": 1}{"b": 2}', b'{"type": "metric"', b'{"type": "step", "reward": 1}{"step": 3, "x": 1}'),
    *(b'{"step": 1, "s": "\xff"}', b'{"step": 1, "s": "\\ud800"}',),
    *(b'\xef\xbb\xbf{"step": 1, "x": 1}', b"\xef\xbb\xbfstep=1, a=2", b'\0{"step": 1, "x": 1}', b"\0step=1, a=2"),
    *('{"step": 1, "x": 1}'.encode("utf-16"), '{"step": 1, "x": 1}'.encode("utf-16-be"), b"text \0 only"),
    *(b'{"step": 1, "": 0.5, "x": 1}', b'{"": 0.5}', b'{"step": 1, "": "text"}', b"{\0 text"),
    *(b"text with a step in it", b"  {\"step\": 2, \"x\": 1}"),
]  # fmt: skip


def events_of(folder: Path, take: Callable[[Translator], None]) -> list[dict[str, Any]]:
    make_run_folder(folder)
    with Telemetry.open(folder) as telemetry:
        translator = Translator(telemetry, {"spaces": {}}, folder)
        translator.begin()
        take(translator)
        translator.finish()
    events = [to_event(batch, record) for batch, record in read_unshipped(folder, RUN_ID)]
    # An episode lasts as long as its lines took.
    return [
        {key: event[key] for key in event if key not in ("t", "duration_s")} for event in events
    ]


@pytest.mark.parametrize("line", LINES)
def test_the_short_way_writes_the_same_events(tmp_path: Path, line: bytes) -> None:
    """A chunk of lines leaves the events that the same lines leave one by one."""

    def one_by_one(translator: Translator) -> None:
        for _ in range(2):
            translator.take(OutputLine(line, len(line)))

    fast = events_of(tmp_path / "fast", lambda translator: translator.take_all([line, line]))
    slow = events_of(tmp_path / "slow", one_by_one)
    assert repr(fast) == repr(slow)


_odd = st.one_of(
    *(st.none(), st.booleans(), st.integers(-2, 2**64), st.floats(), st.text(max_size=3)),
    st.just("0123456789abcdef"),
)
_KEYS = [
    *("name", "value", "step", "reward", "env", "episode", "action", "terminated", "truncated"),
    *("hash", "observation", "return", "length", "duration_s", "global_step", "other"),
]


@given(
    st.sampled_from(["metric", "step", "episode"]),
    st.dictionaries(st.sampled_from(_KEYS), _odd, max_size=5),
)
def test_a_plain_line_is_what_its_model_makes_of_it(kind: str, fields: dict[str, object]) -> None:
    """A line that takes the short way is valid for its model, and has the same values."""
    plain = schema.plain_line(json.dumps({"type": kind, **fields}).encode())
    try:
        model = schema.typed_line.validate_python({"type": kind, **fields})
    except ValidationError:
        assert plain is None
        return
    if plain is not None:
        for name in plain.__struct_fields__:
            got, want = getattr(plain, name), getattr(model, name)
            assert got == want or (math.isnan(got) and math.isnan(want))
            assert type(got) is type(want)
