"""Episodes in machine code. Imports numba, which the bundle `numba` brings; `compiled.py` alone imports this."""

from typing import Any

import numpy as np
from numba import njit


@njit(
    "UniTuple(int64, 3)("
    "float64[:, ::1], int64[:, ::1], "  # q, visits
    "float64[::1], int64[:, :, ::1], "  # start, spans
    "float64[::1], int64[::1], float64[::1], boolean[::1], "  # cumulative, after, rewards, ends
    "float64[::1], int64, float64[::1], int64, "  # draws of the world and of choices, each with its place
    "float64, float64, float64, float64, float64, "  # epsilon, its end and decay, alpha, gamma
    "int64, int64, int64, int64, "  # most steps of an episode, steps to begin within, steps left, episodes
    "int64[::1], float64[::1], int64[::1])"  # by episode: length, return, last outcome
)
def run_episodes(
    q: Any,
    visits: Any,
    start: Any,
    spans: Any,
    cumulative: Any,
    afters: Any,
    rewards: Any,
    ends: Any,
    worlds: Any,
    w: int,
    choices: Any,
    c: int,
    epsilon: float,
    epsilon_end: float,
    epsilon_decay: float,
    alpha: float,
    gamma: float,
    most: int,
    budget: int,
    left: int,
    episodes: int,
    lengths: Any,
    returns: Any,
    lasts: Any,
) -> Any:
    """Run episodes as `run_option` does, each operation on the same numbers in the same order.

    Returns how many (the last one may be cut by `left`), and the places of both draws.
    """
    actions = q.shape[1]
    done, count = 0, 0
    while count < episodes and done < budget and done < left:
        limit = min(most, left - done)
        state = np.searchsorted(start, worlds[w], side="right")
        if state == start.size:
            state = 0
        w += 1
        total, length, outcome = 0.0, 0, 0
        while length < limit:
            explored = choices[c] < epsilon
            c += 1
            if explored:
                action = int(choices[c] * actions)
                c += 1
            else:
                best, ties, action = q[state, 0], 1, 0
                for other in range(1, actions):
                    if q[state, other] > best:
                        best, ties, action = q[state, other], 1, other
                    elif q[state, other] == best:
                        ties += 1
                if ties > 1:
                    drawn = int(choices[c] * ties)
                    c += 1
                    for other in range(actions):
                        if q[state, other] == best:
                            if drawn == 0:
                                action = other
                                break
                            drawn -= 1
            first, size = spans[state, action, 0], spans[state, action, 1]
            outcome = first
            for place in range(size):
                if cumulative[first + place] > worlds[w]:
                    outcome = first + place
                    break
            w += 1
            visits[state, action] += 1
            length += 1
            reward, after = rewards[outcome], afters[outcome]
            total += reward
            if ends[outcome]:
                q[state, action] += alpha * (reward - q[state, action])
                break
            best = q[after, 0]
            for other in range(1, actions):
                if q[after, other] > best:
                    best = q[after, other]
            q[state, action] += alpha * (reward + gamma * best - q[state, action])
            state = after
        lengths[count], returns[count], lasts[count] = length, total, outcome
        done += length
        count += 1
        epsilon = max(epsilon_end, epsilon * epsilon_decay)
    return count, w, c
