import pytest

from mosaic_gui.state.playback import SPEEDS, Lock, Playback, Track, on_stride


def playing(*tracks: Track, **fields: object) -> Playback:
    """A playback of these episodes."""
    return Playback(tracks or (Track(100, 50.0),), **fields)  # type: ignore[arg-type]


def test_it_plays_at_the_frame_rate_of_the_environment() -> None:
    """50 steps a second, at speed 2 a hundred."""
    playback = playing()
    playback.play(True)
    playback.move_to(playback.target(0.5))
    assert playback.step == 25
    playback.speed = 2.0
    playback.move_to(playback.target(0.25))
    assert playback.step == 50


def test_the_end_pauses_and_playing_again_begins_again() -> None:
    """As in a video player."""
    playback = playing()
    playback.play(True)
    playback.move_to(playback.target(60))
    assert (playback.step, playback.is_playing) == (100, False)
    playback.play(True)
    assert (playback.step, playback.is_playing) == (0, True)


def test_nothing_plays_without_steps() -> None:
    """The episode has not been read yet."""
    playback = Playback()
    playback.play(True)
    assert not playback.is_playing


@pytest.mark.parametrize(("to", "step"), [(-5, 0), (0, 0), (42.9, 42), (100, 100), (1e9, 100)])
def test_a_seek_stays_within_the_episode(to: float, step: int) -> None:
    """The nearest place that there is."""
    playback = playing()
    playback.seek(to)
    assert playback.step == step


def test_a_step_pauses() -> None:
    """From the step that is shown, not from between two."""
    playback = playing(position=10.7, is_playing=True)
    playback.step_by(1)
    assert (playback.step, playback.is_playing) == (11, False)


def test_speeds_end_at_both_sides() -> None:
    """0.25 to 8."""
    playback = playing()
    playback.faster(-99)
    assert playback.speed == SPEEDS[0] == 0.25
    playback.faster(1)
    assert playback.speed == 0.5
    playback.faster(99)
    assert playback.speed == SPEEDS[-1] == 8.0


@pytest.mark.parametrize(
    ("fps", "speed", "stride"), [(30, 1, 1), (50, 1, 1), (60, 1, 2), (50, 8, 13), (4, 8, 1)]
)
def test_a_fast_playback_draws_thirty_frames_a_second(
    fps: float, speed: float, stride: int
) -> None:
    """More cannot be seen."""
    assert playing(Track(100, fps), speed=speed).stride == stride


def test_strides_begin_at_zero_and_end_at_the_end() -> None:
    """So that the same frames are asked for from every position."""
    assert [on_stride(n, 8, 100) for n in (0, 7, 8, 99, 100, 120)] == [0, 0, 8, 96, 100, 100]


def test_side_by_side_by_step_all_show_the_same_step() -> None:
    """A shorter one stays at its end."""
    playback = playing(Track(100, 50), Track(40, 25))
    playback.seek(60)
    assert [playback.step_of(n) for n in (0, 1)] == [60, 40]
    assert playback.last == 100


def test_side_by_side_by_time_each_has_its_rate() -> None:
    """After a second one has made 50 steps and the other 25; the longer one decides where the end is."""
    playback = playing(Track(100, 50), Track(400, 25), lock=Lock.TIME)
    playback.seek(50)
    assert [playback.step_of(n) for n in (0, 1)] == [50, 25]
    assert playback.last == 800
