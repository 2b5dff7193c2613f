"""Requests that rebuild recorded episodes and read their frames."""

import uuid

from mosaic_client.answer import HttpAnswer
from mosaic_client.call import Call, body_of, query_of, typed
from mosaic_client.run_view import StartedReplay
from mosaic_contracts import http_api
from mosaic_contracts.frames import EpisodeFrames, decode_page
from mosaic_contracts.replays import ReplayRequest
from mosaic_contracts.runs import ReplayEntry

FRAMES_TIMEOUT_S = 30.0
"""Timeout of a page of frames, above that of the gateway: the worker may have to rebuild all steps before it."""


def replay(
    run_id: str,
    episode: int,
    env: int = 0,
    attempt: int | None = None,
    draws: bool = True,
    *,
    from_episode: int | None = None,
    observations: bool = False,
    idempotency_key: str | None = None,
) -> Call[StartedReplay]:
    """Start a run of kind `replay`, which rebuilds one recorded episode in a fresh process and compares every step.

    Args:
        run_id: id of the recorded run.
        episode: number of the episode in its environment, from 0.
        env: index of the environment among parallel ones, from 0.
        attempt: attempt of the run, from 1; None: the newest that has the episode.
        draws: whether frames are wanted. False: the replay ends when it has compared the last step.
        from_episode: first of several episodes up to `episode`, each with a result of its own; needs `draws` false.
        observations: whether the rebuilt steps are recorded as events of the replay, with their observations; needs
            `draws` false.
        idempotency_key: as for `submit`.

    Returns:
        The replay, a new run, or a live one of the same episode (`is_new`). `replay_result` waits for its result,
        `frames` reads its frames, `stop` ends it.

    Raises:
        RunUnknown: there is no such run.
        EpisodeUnknown: there is no such episode, or none of its steps were recorded.
        ReplayImpossible: the steps were not recorded, or the run's worker cannot rebuild episodes.
    """
    request = ReplayRequest(
        episode=episode,
        env=env,
        attempt=attempt,
        draws=draws,
        from_episode=from_episode,
        observations=observations,
    )
    return Call.of(
        http_api.REPLAY,
        run_id,
        read=_read_started,
        body=body_of(request),
        idempotency_key=idempotency_key or uuid.uuid4().hex,
    )


def replays(run_id: str) -> Call[list[ReplayEntry]]:
    """List the replays of a run.

    Args:
        run_id: id of the recorded run.

    Returns:
        Each replay's run and, once every step has been compared, its result.

    Raises:
        RunUnknown: there is no such run.
    """
    return typed(http_api.REPLAYS, run_id)


def episode_frames(
    replay_id: str, first: int = 0, last: int | None = None, every: int = 1
) -> Call[EpisodeFrames]:
    """Fetch one page of a replay's frames, encoded. `frames` reads all pages and decodes them.

    Args:
        replay_id: id of a replay that draws.
        first: number of the first step; 0: the reset.
        last: number of the last step; None: the last of the episode.
        every: distance of the steps.

    Returns:
        The page; its `next` is the step to ask for next, or None.

    Raises:
        RunEnded: the replay has ended and draws no more.
    """
    query = query_of(first=first, last=last, every=every)
    call = Call.of(
        http_api.FRAMES, replay_id, read=lambda answer: decode_page(answer.content), query=query
    )
    call.timeout_s = FRAMES_TIMEOUT_S
    return call


def _read_started(answer: HttpAnswer) -> StartedReplay:
    found = StartedReplay.model_validate_json(answer.content)
    return found.model_copy(update={"is_new": answer.status_code == 201})
