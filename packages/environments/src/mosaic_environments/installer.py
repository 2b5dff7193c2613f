"""uv, the program that makes environments: where it is, and what it may see of the caller's settings."""

import fcntl
import glob
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import IO

from mosaic_environments.errors import EnvironmentProblem
from mosaic_environments.stamp import UV_PIN, uv_version
from mosaic_environments.tree import Tree

_KEPT = frozenset(
    {
        "PIP_CACHE_DIR",
        "PIP_CERT",
        "PIP_CLIENT_CERT",
        "PIP_CONFIG_FILE",
        "PIP_DEFAULT_TIMEOUT",
        "PIP_EXTRA_INDEX_URL",
        "PIP_FIND_LINKS",
        "PIP_INDEX_URL",
        "PIP_KEYRING_PROVIDER",
        "PIP_NO_CACHE_DIR",
        "PIP_NO_INDEX",
        "PIP_PROXY",
        "PIP_RETRIES",
        "PIP_TIMEOUT",
        "PIP_TRUSTED_HOST",
        "UV_CACHE_DIR",
        "UV_COMPILE_BYTECODE",
        "UV_CONFIG_FILE",
        "UV_DEFAULT_INDEX",
        "UV_EXTRA_INDEX_URL",
        "UV_FIND_LINKS",
        "UV_HTTP_TIMEOUT",
        "UV_INDEX_URL",
        "UV_INSECURE_HOST",
        "UV_KEYRING_PROVIDER",
        "UV_LINK_MODE",
        "UV_NATIVE_TLS",
        "UV_NO_CACHE",
        "UV_NO_CONFIG",
        "UV_NO_PROGRESS",
        "UV_OFFLINE",
        "UV_PYTHON_DOWNLOADS",
        "UV_REQUEST_TIMEOUT",
        "UV_SYSTEM_CERTS",
        "UV_TORCH_BACKEND",
    }
)
"""Settings of pip and uv that say where packages come from. All others of the caller's environment are for other work,
and would change what is installed or where (PIP_PREFIX, PIP_REQUIRE_VIRTUALENV, UV_SYSTEM_PYTHON, ...)."""
_SLOW_LINE_S = "120"
"""torch is large and lines are slow; uv gives up after 30 s."""
_CERTIFICATES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt")


def base_python() -> str:
    """The interpreter that environments are made with: this one, or the one that this virtual environment came from."""
    return str(getattr(sys, "_base_executable", None) or sys.executable)


def settings(environ: dict[str, str]) -> dict[str, str]:
    """The environment of pip, uv and the interpreters that they start."""
    kept = {name: value for name, value in environ.items() if _is_kept(name)}
    kept["UV_PYTHON_DOWNLOADS"] = "never"  # an interpreter is the user's choice
    kept["UV_NO_PROGRESS"] = "1"  # one line a component is the progress
    kept.setdefault("UV_HTTP_TIMEOUT", _SLOW_LINE_S)
    if environ.get("PYTHONDONTWRITEBYTECODE"):
        # Python compiles what it imports, once, unless set not to: then every start of a worker would spend 6 s more
        # on torch, and compiling all of it here, 25 s, is soon won back.
        kept["UV_COMPILE_BYTECODE"] = "1"
    folders = wheel_folders(environ)
    if folders:
        kept["UV_FIND_LINKS"] = ",".join(folders)
    for name in ("UV_CACHE_DIR", "UV_CONFIG_FILE"):
        if kept.get(name):
            kept[name] = os.path.abspath(kept[name])
    if environ.get("PIP_INDEX_URL") and not (
        environ.get("UV_DEFAULT_INDEX") or environ.get("UV_INDEX_URL")
    ):
        kept["UV_DEFAULT_INDEX"] = environ["PIP_INDEX_URL"]
    # uv's own list of authorities does not know a company's or a proxy's; the machine's list, where there is one, does.
    if any(os.path.isfile(path) and os.path.getsize(path) for path in _CERTIFICATES):
        kept.setdefault("UV_SYSTEM_CERTS", "true")
    if environ.get("PIP_CERT"):
        kept.setdefault("SSL_CERT_FILE", environ["PIP_CERT"])
    return kept


def wheel_folders(environ: dict[str, str]) -> list[str]:
    """Folders and addresses of wheels that the user named to uv, else to pip; paths are made absolute.

    pip separates them by spaces, uv by commas.
    """
    named = environ.get("UV_FIND_LINKS", "").split(",") if environ.get("UV_FIND_LINKS") else []
    named = named or environ.get("PIP_FIND_LINKS", "").split()
    # uv runs in the tree, so a path relative to the caller's folder has to be whole
    return [os.path.abspath(entry) if os.path.exists(entry) else entry for entry in named]


class Installer:
    """uv at the pinned version. Raises EnvironmentProblem where it cannot be had."""

    def __init__(self, tree: Tree, environ: dict[str, str]) -> None:
        self._tree = tree
        self.environ = settings(environ)
        self.python = base_python()
        self.locks: tuple[int, ...] = ()
        """Descriptors of held lock files. Programs that are started hold them too, so that a lock outlives this process
        for as long as one of them still writes."""
        self.uv = self._find()

    def run(self, *arguments: str, log: IO[bytes] | None = None, **more: str) -> None:
        """Run uv in the tree, for a project file in the caller's folder is not ours.

        Args:
            log: gets what uv says; without it that goes to this process's output.
            more: settings that are added to its environment.

        Raises:
            subprocess.CalledProcessError: uv failed.
        """
        subprocess.run(
            [self.uv, *arguments],
            cwd=self._tree.root,
            env=self.environ | more,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=self.locks,
            check=True,
        )

    def _find(self) -> str:
        version = uv_version(self._tree)
        own = os.path.join(self._tree.venvs, ".uv")
        candidates = [shutil.which("uv"), f"{own}/bin/uv"]
        if not self._tree.is_checkout:
            # an installed package depends on uv; a checkout's environment of this program may be the one to be made
            candidates.append(os.path.join(os.path.dirname(sys.executable), "uv"))
        for candidate in candidates:
            if candidate is not None and self._version_of(candidate) == version:
                return candidate
        os.makedirs(self._tree.venvs, exist_ok=True)
        with open(os.path.join(self._tree.venvs, ".uv.lock"), "w", encoding="ascii") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                say(f"uv: another {self._tree.command} is fetching it, waiting ...\n")
                fcntl.flock(lock, fcntl.LOCK_EX)
            self.locks = (lock.fileno(),)
            if self._version_of(f"{own}/bin/uv") != version:
                self._fetch(version, own)
            self.locks = ()
        return f"{own}/bin/uv"

    def _version_of(self, program: str) -> str | None:
        if not os.access(program, os.X_OK):
            return None
        done = subprocess.run(
            [program, "--version"],
            env=self.environ,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        words = done.stdout.split()
        return words[1] if done.returncode == 0 and len(words) > 1 else None

    def _fetch(self, version: str, own: str) -> None:
        """Download uv with pip and unpack it.

        Into a folder of its own, not into a virtual environment: Debian ships pip and venv apart. Downloaded and
        unpacked rather than installed, for pip's configuration files may say where everything is installed.
        """
        say(f"uv {version} ...")
        new = f"{own}.new"
        for folder in (own, new):
            shutil.rmtree(folder, ignore_errors=True)
        # -P and -E rather than -I, for pip itself may lie in the user's packages
        pip = [
            self.python,
            "-P",
            "-E",
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--require-hashes",
        ]
        done = subprocess.run(
            [*pip, "--dest", new, "-r", os.path.join(self._tree.root, UV_PIN)],
            env=self.environ
            | {"PIP_REQUIRE_VIRTUALENV": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            pass_fds=self.locks,
            text=True,
            errors="replace",
            check=False,
        )
        if done.returncode != 0:
            say(f" failed\n{done.stdout}{done.stderr}")
            raise EnvironmentProblem(
                f"could not fetch uv {version} with pip; what pip said stands above.\n"
                f"  Without pip in {self.python}: {self.python} -m ensurepip --user. "
                f"Without a network: put uv {version} on PATH."
            )
        (wheel,) = glob.glob(f"{glob.escape(new)}/uv-*.whl")
        with zipfile.ZipFile(wheel) as archive:
            (member,) = (name for name in archive.namelist() if name.endswith("/scripts/uv"))
            program = Path(new, "bin", "uv")
            program.parent.mkdir()
            program.write_bytes(archive.read(member))
        program.chmod(0o755)
        os.remove(wheel)
        os.rename(new, own)
        say(" fetched\n")


def say(text: str) -> None:
    """Write progress to standard error, which may be closed."""
    if sys.stderr is not None:
        sys.stderr.write(text)
        sys.stderr.flush()


def _is_kept(name: str) -> bool:
    if name.startswith("PYTHON"):
        return False
    if not name.startswith(("PIP_", "UV_")) and name != "UV":
        return True
    return name in _KEPT or name.startswith(("UV_INDEX", "UV_CONCURRENT_"))
