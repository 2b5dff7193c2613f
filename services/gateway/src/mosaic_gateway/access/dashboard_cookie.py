"""The cookie that opens one dashboard, and nothing else, to the browser that opened its link.

Requests of TensorBoard's page carry no token. So the link's ticket sets a cookie for the dashboard's path: signed, of
limited life, out of reach of scripts (HttpOnly) and of pages of other sites (SameSite=Strict).
"""

import hashlib
import hmac
import re

from starlette.requests import cookie_parser

from mosaic_contracts.choices import RUN_ID_PATTERN
from mosaic_contracts.dashboards import DASHBOARD_WALL_TIME_S, DASHBOARDS_PATH

COOKIE = "mosaic_dashboard"
LIFETIME_S = int(DASHBOARD_WALL_TIME_S)
_CONTEXT = "mosaic dashboard v1"
_PATH = re.compile(rf"^{DASHBOARDS_PATH}/({RUN_ID_PATTERN.strip('^$')})/")


def dashboard_of(path: str) -> str | None:
    """Id of the dashboard that a path (decoded) belongs to; None: it belongs to none."""
    found = _PATH.match(path)
    return found.group(1) if found is not None else None


def dashboard_path(run_id: str) -> str:
    """Path below which a dashboard is served."""
    return f"{DASHBOARDS_PATH}/{run_id}/"


def set_cookie(key: bytes, run_id: str, now: float, *, is_secure: bool) -> str:
    """Value of the `Set-Cookie` header that opens a dashboard from `now` on, seconds since the epoch."""
    expires = int(now) + LIFETIME_S
    value = f"{expires}.{_sign(key, run_id, expires)}"
    secure = "; Secure" if is_secure else ""
    return (
        f"{COOKIE}={value}; Path={dashboard_path(run_id)}; Max-Age={LIFETIME_S}; HttpOnly; "
        f"SameSite=Strict{secure}"
    )


def has_cookie(key: bytes, run_id: str, headers: list[str], now: float) -> bool:
    """Whether one of the `Cookie` headers opens this dashboard at `now`."""
    value = next((v for h in headers if (v := cookie_parser(h).get(COOKIE))), "")
    expires, _, signature = value.partition(".")
    if not (expires.isascii() and expires.isdigit() and len(expires) < 13):
        return False
    expected = _sign(key, run_id, int(expires))
    is_ours = hmac.compare_digest(expected.encode(), signature.encode(errors="replace"))
    return is_ours and now < int(expires)


def _sign(key: bytes, run_id: str, expires: int) -> str:
    text = "\0".join((_CONTEXT, run_id, str(expires)))
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
