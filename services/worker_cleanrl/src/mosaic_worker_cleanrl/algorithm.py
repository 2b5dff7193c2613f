"""The algorithms this worker offers: one line each. All else is read from the script itself."""

import ast
import difflib
import importlib.util
from dataclasses import dataclass
from pathlib import Path

from mosaic_worker_cleanrl.errors import ScriptMissing


@dataclass(frozen=True, kw_only=True)
class Script:
    """One script of the cleanrl package."""

    id: str
    module: str
    title: str
    summary: str
    action_spaces: tuple[str, ...]
    observation_spaces: tuple[str, ...] = ("box",)
    batch: str | None = None
    """Argument of which the script trains whole multiples only; with fewer steps it would train nothing."""

    def source(self) -> Path:
        """Return the script's file, without importing it.

        Raises:
            ScriptMissing: the package is not installed.
        """
        try:
            found = importlib.util.find_spec(self.module)
        except ModuleNotFoundError:
            found = None
        if found is None or found.origin is None:
            raise ScriptMissing(self.module)
        return Path(found.origin)

    def imports(self, package: str) -> bool:
        """Say whether the script imports `package`, e.g. the `gym` that came before gymnasium."""
        for node in ast.walk(ast.parse(self.source().read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            else:
                continue
            if any(name.partition(".")[0] == package for name in names):
                return True
        return False


SCRIPTS = {
    script.id: script
    for script in (
        Script(
            id="ppo",
            module="cleanrl.ppo",
            title="PPO",
            summary="Proximal policy optimization: on-policy, several environments at once.",
            action_spaces=("discrete",),
            batch="batch_size",
        ),
        Script(
            id="dqn",
            module="cleanrl.dqn",
            title="DQN",
            summary="Deep Q-network: off-policy, with a replay buffer and a target network.",
            action_spaces=("discrete",),
        ),
    )
}


def nearest_algorithms(algorithm: str) -> list[str]:
    """Return known ids close to `algorithm`, best first."""
    return difflib.get_close_matches(algorithm.lower(), SCRIPTS, n=3, cutoff=0.4)
