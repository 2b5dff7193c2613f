"""Hooks of the site generator (MkDocs): pages from elsewhere, reference pages from the code, links and lists."""

import json
import logging

from cli_reference import cli_page
from client_methods import name_methods
from code_paths import ROOT
from event_reference import events_page
from http_reference import http_page, openapi_document
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from page_text import Links, separate_lists
from project_pages import project_pages

_log = logging.getLogger("mkdocs.hooks.site")
"""A warning here fails a strict build."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that do not lie in `docs/`."""
    name_methods()
    document = openapi_document()
    generated = {
        "reference/cli.md": cli_page(),
        "reference/events.md": events_page(),
        "reference/http.md": http_page(document),
        "reference/openapi.json": json.dumps(document, indent=1, ensure_ascii=False),
    }
    for source, page in project_pages(ROOT).items():
        generated[page] = (ROOT / source).read_text("utf-8")
    for place, content in generated.items():
        files.append(File.generated(config, place, content=content))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Rewrite the page's links for the site."""
    pages = {f"docs/{file.src_uri}": file.src_uri for file in files}
    elsewhere = project_pages(ROOT)
    pages |= elsewhere
    sources = {place: source for source, place in elsewhere.items()}
    source = sources.get(page.file.src_uri, f"docs/{page.file.src_uri}")
    browse = f"{config.repo_url.rstrip('/')}/blob/main" if config.repo_url else ""
    return separate_lists(Links(ROOT, pages, _log.warning, browse).rewrite(markdown, source))
