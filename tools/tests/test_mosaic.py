"""`./mosaic` before any environment exists: what it says, and what it takes for made."""

import os
import subprocess
from pathlib import Path

import pytest

from rooms import ROOT, all_rooms

BARE = "source tools/rooms.sh; source tools/uv.sh; source tools/sync.sh; "


def bash(script: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a piece of bash in the checkout, with ROOT set as `mosaic` sets it."""
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=ROOT,
        env={**os.environ, "ROOT": str(ROOT), **env},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("words", ["", "help", "--help"])
def test_the_overview_needs_nothing(tmp_path: Path, words: str) -> None:
    """Help costs no environment."""
    done = bash(f"./mosaic {words}", MOSAIC_VENVS=str(tmp_path / "venvs"))
    assert done.returncode == 0
    assert "./mosaic demo" in done.stdout
    assert not (tmp_path / "venvs").exists()


VERBS_OF_BASH = ["test", "types", "sync", "lock", "lint", "imports", "words"]


@pytest.mark.parametrize("verb", VERBS_OF_BASH)
def test_help_of_a_verb_prints_its_usage_and_runs_nothing(tmp_path: Path, verb: str) -> None:
    """`--help` of a verb of the bash file answers at once and makes no environment."""
    done = bash(f"./mosaic {verb} --help", MOSAIC_VENVS=str(tmp_path / "venvs"))
    assert done.returncode == 0
    assert done.stdout.startswith(f"Usage: ./mosaic {verb}")
    assert not (tmp_path / "venvs").exists()


@pytest.mark.parametrize("verb", VERBS_OF_BASH)
def test_an_unknown_option_is_refused_with_the_usage(tmp_path: Path, verb: str) -> None:
    """An option that a verb does not know ends with code 2 and how the verb is called."""
    done = bash(f"./mosaic {verb} --nosuch", MOSAIC_VENVS=str(tmp_path / "venvs"))
    assert done.returncode == 2
    assert "--nosuch" in done.stderr
    assert f"Usage: ./mosaic {verb}" in done.stderr
    assert not (tmp_path / "venvs").exists()


@pytest.mark.parametrize(
    ("line", "words"),
    [("./mosaic typ", ["types"]), ("./mosaic sync --b", ["--bundle"]), ("./mosaic test wor", None)],
)
def test_the_tab_key_knows_the_bash_verbs(
    tmp_path: Path, line: str, words: list[str] | None
) -> None:
    """Verbs of the bash file, their options and rooms are completed, and no environment is made for it."""
    done = bash(
        "./mosaic",
        _MOSAIC_COMPLETE="complete_bash",
        COMP_WORDS=line,
        COMP_CWORD=str(len(line.split()) - 1),
        MOSAIC_VENVS=str(tmp_path / "venvs"),
    )
    assert done.returncode == 0, done.stderr
    rooms = [room.name for room in all_rooms() if room.name.startswith("wor")]
    assert sorted(done.stdout.split()) == sorted(words or rooms)
    assert not (tmp_path / "venvs").exists()


def test_bash_and_python_know_the_same_rooms() -> None:
    """Rooms are the folders with a project file, in both halves of the tooling."""
    listed = bash(f"{BARE} room_names").stdout.split()
    assert listed == [room.name for room in all_rooms()]


@pytest.mark.parametrize("name", ["contract", "../tools", "packages/contracts"])
def test_an_unknown_room_is_refused_with_the_list(name: str) -> None:
    """A misspelt room ends with code 2 and the names there are."""
    done = bash(f"./mosaic sync {name}")
    assert done.returncode == 2
    assert f"no room called '{name}'" in done.stderr
    assert "gateway" in done.stderr


def test_every_room_installs_all_of_our_packages_that_it_names() -> None:
    """A dependency of ours without its path would be looked for in a registry."""
    for room in all_rooms():
        done = bash(f'{BARE} find_packages "{room.folder}"; printf "%s\\n" "${{PACKAGES[@]##*/}}"')
        text = (room.folder / "pyproject.toml").read_text(encoding="utf-8")
        named = {
            package.name
            for package in (ROOT / "packages").iterdir()
            if f'"mosaic-{package.name}"' in text
        }
        assert named <= set(done.stdout.split()), room.name


def test_a_wrong_interpreter_is_named(tmp_path: Path) -> None:
    """MOSAIC_PYTHON that is no Python 3.11 is an error, not a reason to take another."""
    done = bash(f"{BARE} find_python", MOSAIC_PYTHON=str(tmp_path / "python"))
    assert done.returncode == 2
    assert f"MOSAIC_PYTHON={tmp_path}/python" in done.stderr


def test_without_python_3_11_it_says_what_to_do(tmp_path: Path) -> None:
    """An empty PATH gives one clear error."""
    done = bash(f"{BARE} PATH={tmp_path}; find_python", MOSAIC_PYTHON="")
    assert done.returncode == 2
    assert "needs Python 3.11" in done.stderr


def test_an_environment_without_its_stamp_is_not_taken_for_made(tmp_path: Path) -> None:
    """Half-made, made from something else, and emptied environments are all made again."""
    made = bash(f'{BARE} find_room contracts; digest "$REPLY" run; echo "$REPLY"').stdout
    folder = tmp_path / "contracts"
    check = f"{BARE} is_current run contracts"
    env = {"MOSAIC_VENVS": str(tmp_path)}
    assert bash(check, **env).returncode == 1
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").symlink_to("/bin/true")
    assert bash(check, **env).returncode == 1
    (folder / "mosaic-run.stamp").write_text("0" * 64 + "\n")
    assert bash(check, **env).returncode == 1
    (folder / "mosaic-run.stamp").write_text(made)
    assert bash(check, **env).returncode == 0
    (folder / "bin" / "python").unlink()
    assert bash(check, **env).returncode == 1


def test_the_environment_of_the_verbs_is_compiled_when_it_is_made(tmp_path: Path) -> None:
    """Packages and our own sources get their byte code at sync, also where PYTHONDONTWRITEBYTECODE is not set."""
    stub = """
    run_uv() {
      echo "uv ${UV_COMPILE_BYTECODE:-no} $*"
      [ "$1" != venv ] || { mkdir -p "${@: -1}/bin"; ln -s /bin/echo "${@: -1}/bin/python"; }
    }
    PYTHON=python
    """
    env = {"MOSAIC_VENVS": str(tmp_path), "PYTHONDONTWRITEBYTECODE": ""}
    made = bash(f"{BARE} {stub} make_room run cli", **env)
    assert made.returncode == 0, made.stderr
    assert "uv no" not in made.stdout
    (compiled,) = [line for line in made.stdout.splitlines() if "compileall" in line]
    assert [path.removeprefix(f"{ROOT}/cli/") for path in compiled.split()[-3:]] == [
        "../packages/client/src",
        "../packages/contracts/src",
        "src",
    ]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            "worker_cleanrl --bundle mujocco",
            "no bundle 'mujocco'. It has: atari, box2d, mujoco, video",
        ),
        ("contracts --bundle mujoco", "no bundle 'mujoco'. It has: none"),
        ("--bundle mujoco", "goes with one room"),
        ("worker_cleanrl --bundle", "needs a name"),
    ],
)
def test_a_bundle_that_is_not_there_is_refused(tmp_path: Path, words: str, says: str) -> None:
    """A misspelt bundle, or one without its room, makes nothing and says which there are."""
    done = bash(f"./mosaic sync {words}", MOSAIC_VENVS=str(tmp_path / "venvs"))
    assert done.returncode == 2
    assert says in done.stderr
    assert not (tmp_path / "venvs").exists()


def test_a_bundle_belongs_to_its_environment(tmp_path: Path) -> None:
    """An environment lacks a bundle until its stamp is there, and those that never asked for it do not care."""
    room = tmp_path / "worker_cleanrl"
    (room / "bin").mkdir(parents=True)
    (room / "bin" / "python").symlink_to("/bin/true")
    env = {"MOSAIC_VENVS": str(tmp_path)}
    stamp = f'{BARE} find_room worker_cleanrl; digest "$REPLY" KIND; echo "$REPLY"'
    digests = {kind: bash(stamp.replace("KIND", kind)).stdout for kind in ("run", "bundle-mujoco")}
    assert len(set(digests.values())) == 2
    (room / "mosaic-run.stamp").write_text(digests["run"])
    check = f"{BARE} is_current run worker_cleanrl"
    assert bash(check, **env).returncode == 0
    (tmp_path / ".worker_cleanrl.bundles").write_text("mujoco\nno-longer-there\n")
    assert bash(check, **env).returncode == 1
    (room / "mosaic-bundle-mujoco.stamp").write_text(digests["bundle-mujoco"])
    assert bash(check, **env).returncode == 0


def test_wheel_folders_told_to_pip_are_told_to_uv() -> None:
    """pip separates folders by spaces, uv by commas; a value set for uv itself is kept."""
    show = f'{BARE} echo "$UV_FIND_LINKS"'
    assert bash(show, PIP_FIND_LINKS="/a /b", UV_FIND_LINKS="").stdout == "/a,/b\n"
    assert bash(show, PIP_FIND_LINKS="/a", UV_FIND_LINKS="/c").stdout == "/c\n"


@pytest.mark.parametrize(
    ("words", "room"),
    [
        ("spade bdi_q FrozenLake-v1", "worker_spade"),
        ("-d spade_bdi_rl_worker bdi_q", "worker_spade"),
        ("cleanrl ppo", "worker_cleanrl"),
        ("minimal epsilon_greedy", ""),
        ("-f spec.yaml spade", ""),
        ("", ""),
    ],
)
def test_a_worker_is_found_by_its_name_and_alias(words: str, room: str) -> None:
    """The room of the worker that a command line names; nothing for a user's own, whose environment is theirs."""
    done = bash(f'source tools/rooms.sh; find_worker_room {words}; echo "${{WORKER_ROOM[*]}}"')
    assert (done.returncode, done.stdout.strip()) == (0, room)
