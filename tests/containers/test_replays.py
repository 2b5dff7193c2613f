"""Replays in containers: rebuilt in the worker's image, without a network, drawn on request, and gone afterwards."""

import pytest
from containers.compose_stack import ComposeStack, engine_answers

from mosaic_client import picture

pytestmark = [
    pytest.mark.timeout(1200),
    pytest.mark.skipif(not engine_answers(), reason="no container engine answers here"),
]


def test_an_episode_is_rebuilt_and_drawn_in_its_image(compose: ComposeStack) -> None:
    """Every step is equal, frames come out of a container without a network, and a stop leaves nothing."""
    compose.build_worker("worker_spade")
    fields = {"worker": "spade", "algorithm": "q_learning", "environment": "FrozenLake-v1"}
    run = compose.wait_final(compose.submit(**fields, steps=5_000).run_id)
    assert run.state == "succeeded", run.end
    with compose.client() as client:
        row = next(row for row in client.each_episode(run.run_id) if row.recorded_steps)
        replay = client.replay(run.run_id, row.episode, env=row.env)
        result = client.replay_result(replay.run_id, timeout_s=60)
        assert result.is_verified, result
        frames = list(client.frames(replay.run_id))
        assert [frame.step for frame in frames] == list(range(result.steps + 1))
        assert picture(frames[-1]).any(), frames[-1].problem
        client.stop(replay.run_id)
    ended = compose.wait_final(replay.run_id)
    assert ended.end is not None
    assert ended.end.exit_code == 0
    assert compose.run_containers() == []
