"""One version everywhere, and a release that writes it."""

import datetime
from pathlib import Path

from checks.versions import SOURCE, find_versions, set_version
from release import with_heading

FILES = {
    SOURCE: '[project]\nversion = "0.1.0"\n',
    "gui/pyproject.toml": '[project]\nversion = "0.1.0"\n',
    "compose.yaml": "image: localhost/mosaic/gateway:${MOSAIC_VERSION:-0.1.0}\n",
    "services/gateway/Dockerfile": "FROM x\nARG VERSION=0.1.0\n",
    "services/gateway/src/mosaic_gateway/__init__.py": 'VERSION = "0.1.0"\n',
    "services/worker_cleanrl/worker.toml": 'image = "localhost/mosaic/worker_cleanrl:0.1.0"\n',
    "examples/worker/pyproject.toml": '[project]\nversion = "7.0.0"\n',
}


def checkout(root: Path) -> list[str]:
    """Write the files; return their names."""
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return list(FILES)


def test_a_file_with_another_version_is_found(tmp_path: Path) -> None:
    """Every way of writing the version counts; a user's own worker has a version of its own."""
    names = checkout(tmp_path)
    assert find_versions(tmp_path, names) == []
    (tmp_path / SOURCE).write_text('[project]\nversion = "0.2.0"\n')
    wrong = {finding.partition(":")[0] for finding in find_versions(tmp_path, names)}
    assert wrong == set(FILES) - {SOURCE, "examples/worker/pyproject.toml"}


def test_a_release_writes_the_version_everywhere(tmp_path: Path) -> None:
    """Afterwards nothing has the old version, and a second time changes nothing."""
    names = checkout(tmp_path)
    assert len(set_version(tmp_path, names, "10.0.0")) == len(FILES) - 1
    assert find_versions(tmp_path, names) == []
    assert "mosaic/gateway:${MOSAIC_VERSION:-10.0.0}" in (tmp_path / "compose.yaml").read_text()
    assert set_version(tmp_path, names, "10.0.0") == []


def test_a_release_gives_the_changelog_its_heading() -> None:
    """What was unreleased moves under the version and its day; nothing noted is no release."""
    day = datetime.date(2027, 1, 2)
    text = "# Changelog\n\n## [Unreleased]\n\n- A thing.\n\n## [0.1.0] - 2026-01-01\n\n- Old.\n"
    made = with_heading(text, "0.2.0", day)
    assert made is not None
    assert "## [Unreleased]\n\n## [0.2.0] - 2027-01-02\n\n- A thing." in made
    assert with_heading(made, "0.3.0", day) is None
