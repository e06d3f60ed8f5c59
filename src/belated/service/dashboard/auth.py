"""Access to the dashboard: a key in the Authorization header, or a session cookie that /login sets in exchange for a
key.

The cookie is derived from the hash of the key: it opens the pages of the dashboard, but not the API."""

from __future__ import annotations

import hmac
from urllib.parse import parse_qs, quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from belated.service import problems
from belated.service.api.router import bearer_key
from belated.service.api_keys import Keyring, hash_key

COOKIE = "belated_ticket"
_PURPOSE = b"belated dashboard 1"


def session_cookie(key_hash: str) -> str:
    """The cookie for the key with this hash."""
    return hmac.new(key_hash.encode(), _PURPOSE, "sha256").hexdigest()


def check(keyring: Keyring, request: Request) -> None:
    """Raise unless the request may read; without any keys everyone may."""
    cookie = request.cookies.get(COOKIE)
    key = bearer_key(request)
    roles = keyring.roles()
    if roles is not None and key is None and cookie is not None:
        valid = [hmac.compare_digest(session_cookie(hash).encode(), cookie.encode()) for hash in roles]  # constant time
        if any(valid):
            return
    keyring.check(key, "reader")


def login_path(request: Request) -> str:
    """The login page that comes back to the requested page."""
    here = request.url.path
    return "/login" if here == "/" else f"/login?next={quote(here)}"


def safe_redirect(target: str | None) -> str:
    """Where to go after the login: only to pages of the dashboard.

    >>> safe_redirect("/experiments/colours"), safe_redirect("//elsewhere.example"), safe_redirect(None)
    ('/experiments/colours', '/', '/')
    """
    return quote(target) if target is not None and target.startswith("/experiments/") and "\\" not in target else "/"


async def parse_form(request: Request) -> dict[str, str]:
    """The fields of a form that was sent from this origin."""
    _check_origin(request)
    fields = parse_qs((await request.body()).decode("utf-8", "replace"))
    return {name: values[0] for name, values in fields.items()}


def log_in(keyring: Keyring, request: Request, fields: dict[str, str]) -> Response:
    """Set a session cookie for the key in a form, or raise if the key is invalid."""
    key = fields.get("key", "").strip()
    keyring.check(key or None, "reader")
    response = RedirectResponse(safe_redirect(fields.get("next")), 303)
    response.set_cookie(
        COOKIE, session_cookie(hash_key(key)), httponly=True, samesite="strict", secure=_is_https(request), path="/"
    )
    return response


def log_out(request: Request) -> Response:
    """Delete the session cookie."""
    _check_origin(request)
    response = RedirectResponse("/", 303)
    response.delete_cookie(COOKIE, httponly=True, samesite="strict", secure=_is_https(request), path="/")
    return response


def _is_https(request: Request) -> bool:
    """Whether the browser uses TLS, with this server or with a reverse proxy."""
    return request.url.scheme == "https" or request.headers.get("origin", "").startswith("https://")


def _check_origin(request: Request) -> None:
    origin, host = request.headers.get("origin"), request.headers.get("host")
    if origin is not None and origin.partition("://")[2] != host:
        raise problems.OTHER_ORIGIN.error(
            f"this form was sent from a page of {origin}, but the host of the request was {host}. Open /login on this "
            "server; a reverse proxy must pass the Host header through unchanged."
        )
