"""The page that a browser shows in place of a dashboard that has ended or is still starting."""

import math
from html import escape

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, Response
from starlette.types import Scope

from mosaic_contracts.problems import Problem

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"
_PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>{again}
<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">
<style>body{{font:16px/1.5 system-ui,sans-serif;max-width:42rem;margin:12vh auto;padding:0 1rem;overflow-wrap:anywhere}}
h1{{font-size:1.4rem}}</style></head><body><h1>{title}</h1><p>{detail}</p></body></html>
"""
_AGAIN = '<meta http-equiv="refresh" content="{seconds}">'


def is_page_request(scope: Scope) -> bool:
    """Whether a browser asks for a page, and not a script of a page for data."""
    accepted = Headers(scope=scope).get("accept", "")
    return scope["method"] in ("GET", "HEAD") and "text/html" in accepted


def problem_page(problem: Problem) -> Response:
    """The problem as a page. It loads itself again where that can help."""
    headers = {"Content-Security-Policy": _POLICY, "Cache-Control": "no-store"}
    again = ""
    if problem.retry_after_s is not None:
        seconds = max(1, math.ceil(problem.retry_after_s))
        headers["Retry-After"] = str(seconds)
        again = _AGAIN.format(seconds=seconds)
    page = _PAGE.format(title=escape(problem.title), detail=escape(problem.detail), again=again)
    return HTMLResponse(page, problem.status, headers)
