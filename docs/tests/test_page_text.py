"""How Markdown of the repository becomes Markdown of the site."""

from pathlib import Path

import pytest
from page_text import Links, separate_lists

PAGES = {
    "docs/architecture.md": "architecture.md",
    "docs/tutorial/README.md": "tutorial/README.md",
    "docs/img/window.png": "img/window.png",
    "gui/README.md": "project/gui.md",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with a source file that is no page."""
    (tmp_path / "gui" / "src").mkdir(parents=True)
    (tmp_path / "gui" / "src" / "code.py").touch()
    return tmp_path


@pytest.mark.parametrize(
    ("source", "written", "expected"),
    [
        (
            "docs/architecture.md",
            "[window](../gui/README.md#keys)",
            "[window](project/gui.md#keys)",
        ),
        ("docs/architecture.md", "[window](../gui)", "[window](project/gui.md)"),
        ("docs/architecture.md", "[notebook](tutorial)", "[notebook](tutorial/README.md)"),
        ("gui/README.md", "![it](../docs/img/window.png)", "![it](../img/window.png)"),
        ("gui/README.md", "the [code](src/code.py) of it", "the code of it"),
        ("gui/README.md", "[here](#keys), [there](https://example.org/a)", None),
        ("gui/README.md", "```\n[no](link.md)\n```", None),
    ],
)
def test_links_lead_to_pages(root: Path, source: str, written: str, expected: str | None) -> None:
    """Links between pages are kept, links to other files become their text, code and addresses stay as they are."""
    warnings: list[str] = []
    assert Links(root, PAGES, warnings.append).rewrite(written, source) == (expected or written)
    assert warnings == []


def test_a_link_to_nothing_is_a_warning(root: Path) -> None:
    """A file that does not exist is reported with the page and the target."""
    warnings: list[str] = []
    Links(root, PAGES, warnings.append).rewrite("[gone](src/gone.py)", "gui/README.md")
    assert len(warnings) == 1
    assert "gui/README.md" in warnings[0]
    assert "src/gone.py" in warnings[0]


def test_files_are_links_where_the_repository_can_be_read(root: Path) -> None:
    """With an address of the repository a file that is no page is a link into it."""
    links = Links(root, PAGES, pytest.fail, "https://host/repository/blob/main")
    written = links.rewrite("[code](src/code.py)", "gui/README.md")
    assert written == "[code](https://host/repository/blob/main/gui/src/code.py)"


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("Text:\n- one\n- two\n", "Text:\n\n- one\n- two\n"),
        ("Text:\n\n- one\n  more\n- two\n", "Text:\n\n- one\n  more\n- two\n"),
        ("## Heading\n- one\n", "## Heading\n- one\n"),
        ("```\ntext\n- no list\n```\n", "```\ntext\n- no list\n```\n"),
    ],
)
def test_a_list_begins_after_an_empty_line(written: str, expected: str) -> None:
    """Only a list that follows a paragraph directly needs one."""
    assert separate_lists(written) == expected
