"""Pages of the site that lie elsewhere in the repository: the project's own documents and each component's README."""

from pathlib import Path

_DOCUMENTS = {
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changelog.md",
    "SECURITY.md": "project/security.md",
}
_README_FOLDERS = (
    "packages/*",
    "services/*",
    "cli",
    "gui",
    "exporter",
    "analysis",
    "tools",
    "benchmarks",
)


def project_pages(root: Path) -> dict[str, str]:
    """Path of each page's source in the repository, and the page's place in the site."""
    found = {source: page for source, page in _DOCUMENTS.items() if (root / source).is_file()}
    for pattern in _README_FOLDERS:
        for readme in sorted(root.glob(f"{pattern}/README.md")):
            source = readme.relative_to(root).as_posix()
            found[source] = f"project/{readme.parent.name}.md"
    return found
