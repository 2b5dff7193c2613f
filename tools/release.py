"""`./mosaic release VERSION`: writes a version everywhere it stands, and gives the changelog its heading."""

import datetime
import re
import sys

from check import tracked_files
from checks.versions import set_version, version
from components import ROOT

_VERSION = re.compile(r"\d+\.\d+\.\d+(rc\d+)?")
UNRELEASED = "## [Unreleased]\n"


def main(new: str, today: datetime.date) -> int:
    """Write the version. Return 2 when it is none, or nothing is noted for it."""
    changelog = ROOT / "CHANGELOG.md"
    if _VERSION.fullmatch(new) is None:
        print(f"{new!r} is no version; write MAJOR.MINOR.PATCH, e.g. 0.2.0", file=sys.stderr)
        return 2
    noted = with_heading(changelog.read_text(encoding="utf-8"), new, today)
    if noted is None:
        print(f"CHANGELOG.md notes nothing under {UNRELEASED.strip()}", file=sys.stderr)
        return 2
    old = version(ROOT)
    changed = set_version(ROOT, tracked_files(), new)
    changelog.write_text(noted, encoding="utf-8")
    print(f"{old} -> {new} in {len(changed)} files and CHANGELOG.md. Next:")
    print("  ./mosaic lock && ./mosaic test")
    print(f"  git commit -am 'Release {new}' && git tag v{new}")
    print("  ./mosaic build")
    return 0


def with_heading(changelog: str, new: str, today: datetime.date) -> str | None:
    """The changelog with what was unreleased under the new version; None when there is nothing."""
    before, found, after = changelog.partition(UNRELEASED)
    noted = after.partition("\n## [")[0].strip()
    if not found or not noted:
        return None
    return f"{before}{UNRELEASED}\n## [{new}] - {today.isoformat()}\n{after}"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("Usage: ./mosaic release VERSION")
    sys.exit(main(sys.argv[1], datetime.datetime.now(datetime.UTC).date()))
