"""The site is built strictly: a broken link, anchor or reference fails, and nothing comes from another host."""

import json
import re
from pathlib import Path

import build_site
import pytest
from code_paths import ROOT, import_in_place

_RESOURCE = re.compile(
    r"<(?:script|img|iframe|source)\b[^>]*\bsrc=\"([^\"]+)\"|<link\b[^>]*\bhref=\"([^\"]+)\""
)
_ELSEWHERE = re.compile(r"^(https?:)?//")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site once; a warning is an error."""
    folder = tmp_path_factory.mktemp("site")
    assert build_site.main(["--to", str(folder)]) == 0
    return folder


_LINK = re.compile(r"\]\((?![a-z]+:)([^)\s#]*)(?:#([^)\s]+))?\)")


def text_of(page: Path) -> str:
    """Return the text of a page without its markup."""
    return re.sub(r"<[^>]+>", "", page.read_text("utf-8"))


def test_every_part_of_the_navigation_has_pages(site: Path) -> None:
    """The built site has a page for each entry that a reader looks for."""
    for page in (
        "index",
        "start",
        "concepts",
        "worker_author",
        "remote",
        "glossary",
        "performance",
    ):
        assert (site / f"{page}.html").is_file(), page
    assert (site / "project" / "contributing.html").is_file()


def test_no_page_loads_anything_from_another_host(site: Path) -> None:
    """Scripts, styles, fonts and pictures are files of the site; no page has a diagram that loads a script."""
    for page in site.rglob("*.html"):
        text = page.read_text("utf-8")
        loaded = [match[1] or match[2] for match in _RESOURCE.finditer(text)]
        assert not [one for one in loaded if _ELSEWHERE.match(one)], page
        assert 'class="mermaid"' not in text, page
    for sheet in site.rglob("*.css"):
        assert not re.search(r"(url\(|@import\s*)[\"']?(https?:)?//", sheet.read_text("utf-8")), (
            sheet
        )


def test_the_command_line_reference_has_every_verb(site: Path) -> None:
    """Each verb of the table is a heading of the page."""
    entries = import_in_place("mosaic_cli.verb_table").ENTRIES
    page = (site / "reference" / "cli.html").read_text("utf-8")
    assert [entry.verb.name for entry in entries if f'id="{entry.verb.name}"' not in page] == []


def test_the_exit_codes_are_those_of_the_command_line() -> None:
    """The page lists each code once."""
    rows = (ROOT / "docs" / "reference" / "exit_codes.md").read_text("utf-8")
    codes = import_in_place("mosaic_cli.exit_code").ExitCode
    assert re.findall(r"^\| (\d+) \|", rows, re.M) == [str(int(code)) for code in codes]


def test_the_http_reference_has_every_route_and_the_document(site: Path) -> None:
    """Each path of the OpenAPI document is on the page, and the document lies next to it."""
    document = json.loads((site / "reference" / "openapi.json").read_text("utf-8"))
    page = text_of(site / "reference" / "http.html")
    assert len(document["paths"]) > 20
    assert [path for path in document["paths"] if path not in page] == []


def test_the_python_reference_has_the_methods_of_the_client(site: Path) -> None:
    """Methods that are made at run time are documented too."""
    page = text_of(site / "reference" / "python_client.html")
    for name in ("submit", "wait", "live_events", "episode_table", "export"):
        assert name in page, name


def test_the_event_reference_says_what_a_field_means(site: Path) -> None:
    """Texts below the fields of a model reach the page."""
    assert "1 terminated, 2 truncated." in text_of(site / "reference" / "events.html")


@pytest.mark.parametrize("name", ["README.md", ".github/pull_request_template.md"])
def test_links_of_files_that_are_no_pages_lead_somewhere(site: Path, name: str) -> None:
    """A link of the README names a file, and an anchor a heading of the page that is made of it."""
    source = ROOT / name
    for path, anchor in _LINK.findall(source.read_text("utf-8")):
        target = (source.parent / path).resolve()
        assert target.exists(), path
        if anchor and target.is_relative_to(ROOT / "docs"):
            page = site / target.relative_to(ROOT / "docs").with_suffix(".html")
            assert f'id="{anchor}"' in page.read_text("utf-8"), f"{path}#{anchor}"
