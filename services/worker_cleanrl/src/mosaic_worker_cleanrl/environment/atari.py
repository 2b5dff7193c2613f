"""Atari games: which there are, also without ale-py."""

import re
from functools import lru_cache

from gymnasium.envs.registration import EnvSpec, register

from mosaic_gymkit.families import ATARI

COLOURS = (3,)
"""A game's observation is a picture: height, width, colours. Its height depends on the game."""
_NAMES = """
Adventure AirRaid Alien Amidar Assault Asterix Asteroids Atlantis BankHeist BattleZone BeamRider Berzerk
Bowling Boxing Breakout Carnival Centipede ChopperCommand CrazyClimber Defender DemonAttack DoubleDunk
ElevatorAction Enduro FishingDerby Freeway Frostbite Gopher Gravitar Hero IceHockey Jamesbond JourneyEscape
Kangaroo Krull KungFuMaster MontezumaRevenge MsPacman NameThisGame Phoenix Pitfall Pong Pooyan PrivateEye
Qbert Riverraid RoadRunner Robotank Seaquest Skiing Solaris SpaceInvaders StarGunner Tennis TimePilot
Tutankham UpNDown Venture VideoPinball WizardOfWor YarsRevenge Zaxxon
"""
GAMES = tuple(_NAMES.split())
_PLAIN = "NoFrameskip-v4"
"""The form that the scripts are made for: they skip frames themselves."""
_NAME = re.compile(r"(?:ALE/)?([A-Za-z]+?)(?:-ram)?(?:Deterministic|NoFrameskip)?(?:-v\d+)?")


@lru_cache(maxsize=1)
def register_games() -> None:
    """Have gymnasium know the games: ale-py registers them itself; without it their names are registered."""
    try:
        import ale_py  # registers them
    except ImportError:
        for game in GAMES:
            for name in (plain_name(game), f"ALE/{game}-v5"):
                register(name, entry_point=f"{ATARI}env:AtariEnv")
    else:
        # otherwise each emulator prints who made it
        ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)


def plain_name(game: str) -> str:
    """Return the environment of a game that the scripts are made for."""
    return f"{game}{_PLAIN}"


def game_of(name: str) -> str | None:
    """Return the game that a name means, whatever version or form it asks for."""
    found = _NAME.fullmatch(name)
    known = {game.lower(): game for game in GAMES}
    return known.get(found[1].lower()) if found else None


def is_plain(spec: EnvSpec) -> bool:
    """Say whether an environment is of the form that the scripts are made for."""
    return spec.id in {plain_name(game) for game in GAMES}


def skips_frames(spec: EnvSpec) -> bool:
    """Say whether the environment leaves out frames by itself."""
    return bool(spec.kwargs.get("frameskip", 1) != 1)
