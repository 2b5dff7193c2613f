"""The code of a run is recorded: script, commit, changes and packages, without what looks like a credential."""

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from tests.script_run import run_script

from mosaic_worker_script.credentials import MASK, CredentialMask
from mosaic_worker_script.source import CHANGES, CUT, MAX_BYTES, PACKAGES

SCRIPT = "import gymnasium, helper\ngymnasium.make('CartPole-v1').reset(seed=1)\n"


def git(folder: Path, *words: str) -> str:
    """Run git in a folder, with an author."""
    author = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    command = ["git", "-C", str(folder), *author, *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with the script and a module, whose commit is followed by changes."""
    own = tmp_path / "own"
    own.mkdir()
    (own / "train.py").write_text(SCRIPT)
    (own / "helper.py").write_text("LR = 1\n")
    git(own, "init", "-q")
    git(own, "add", ".")
    git(own, "commit", "-qm", "first")
    return own


def test_a_clean_checkout(tmp_path: Path, checkout: Path) -> None:
    """The config names commit, script and packages; there is no diff."""
    made = run_script(tmp_path, SCRIPT)
    assert made.code == 0, made.output
    config = made.of("config")[0]["data"]
    assert config["git"] == {"commit": git(checkout, "rev-parse", "HEAD"), "dirty": False}
    assert config["script_file"]["path"] == "source/train.py"
    assert config["installed"]["gymnasium"] == version("gymnasium")
    assert Path(config["interpreter"]).samefile(sys.executable)
    assert config["surroundings"]["python"] == ".".join(map(str, sys.version_info[:3]))
    listed = (tmp_path / "run" / PACKAGES).read_text().splitlines()
    assert f"gymnasium=={version('gymnasium')}" in listed
    assert any(line.startswith("-e file://") for line in listed)
    announced = {file["path"]: file["kind"] for file in made.of("artifact")}
    assert announced == {"source/train.py": "source", PACKAGES: "source"}


def test_changes_since_the_commit(tmp_path: Path, checkout: Path) -> None:
    """The changes are a diff that git applies; a password in them is masked; new modules are named."""
    (checkout / "helper.py").write_text("LR = 2\nPASSWORD = 'correct horse battery'\n")
    (checkout / "new.py").write_text("")
    made = run_script(tmp_path, SCRIPT)
    state = made.of("config")[0]["data"]["git"]
    assert (state["dirty"], state["untracked"]) == (True, ["new.py"])
    changes = (tmp_path / "run" / CHANGES).read_text()
    assert "+LR = 2" in changes
    assert "horse" not in changes
    git(checkout, "checkout", "-q", "helper.py")
    git(checkout, "apply", str(tmp_path / "run" / CHANGES))
    assert (checkout / "helper.py").read_text() == f"LR = 2\nPASSWORD = '{MASK}'\n"


def test_large_changes_are_cut(tmp_path: Path, checkout: Path) -> None:
    """No more than a limit of the changes is kept, and the file says so; the digest is of all of them."""
    digests = []
    for name, last in (("one", "a"), ("two", "b")):
        (checkout / "helper.py").write_text("x = 1\n" * (MAX_BYTES // 4) + last + " = 1\n")
        folder = tmp_path / name
        folder.mkdir()
        (folder / "own").symlink_to(checkout)
        made = run_script(folder, SCRIPT.replace(", helper", ""))
        text = (folder / "run" / CHANGES).read_text()
        assert text.endswith(CUT)
        assert len(text) == MAX_BYTES + len(CUT)
        digests.append(made.of("config")[0]["data"]["git"]["changes"])
    assert digests[0] != digests[1]


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ('api_key = "abcdefgh1234"', f'api_key = "{MASK}"'),
        ("config['AUTH_TOKEN'] = 'a b c d e f'", f"config['AUTH_TOKEN'] = '{MASK}'"),
        ('{"password": "hunter2hunter2"}', f'{{"password": "{MASK}"}}'),
        ("token: str = 'abcdefgh'", f"token: str = '{MASK}'"),
        (f"wandb.login(key='{'0a' * 20}')", f"wandb.login(key='{MASK}')"),
        (f"x = 'ghp_{'a1' * 18}'", f"x = '{MASK}'"),
        (f"x = hf_{'aB' * 17}", f"x = {MASK}"),
        ("git+https://me:pass@host/x", f"git+https://me:{MASK}@host/x"),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
            f"-----BEGIN RSA PRIVATE KEY-----{MASK}-----END RSA PRIVATE KEY-----",
        ),
        ("os.environ['WANDB_API_KEY']", "os.environ['WANDB_API_KEY']"),
        ("token_count = 'tokens'", "token_count = 'tokens'"),
        ("max_tokens = 512", "max_tokens = 512"),
        ("x = mine-of-the-shell", "x = [secret MY_TOKEN]"),
    ],
)
def test_masked(text: str, masked: str) -> None:
    """Credentials are masked by their names, their forms and the values of variables; other text stays."""
    environ = {"MY_TOKEN": "mine-of-the-shell", "TOKEN_FILE": "/home/x/token"}
    assert CredentialMask(environ).in_text(text) == masked
