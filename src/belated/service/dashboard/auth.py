"""Who may look: a key in the request's head, or a ticket that was given for a key on the page /login.

The ticket is made from the key's hash and is no key: it opens the dashboard's pages, and nothing of the API."""

from __future__ import annotations

import hmac
from urllib.parse import parse_qs, quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from belated.errors import ApiError
from belated.service.api.router import key_of
from belated.service.api_keys import Keyring, hashed

COOKIE = "belated_ticket"
_PURPOSE = b"belated dashboard 1"


def ticket(hash: str) -> str:
    """What a browser is given for the key with this hash."""
    return hmac.new(hash.encode(), _PURPOSE, "sha256").hexdigest()


def check(keyring: Keyring, request: Request) -> None:
    """An error unless the request may read; without any keys everybody may."""
    given = request.cookies.get(COOKIE)
    key = key_of(request)
    roles = keyring.roles()
    if roles is not None and key is None and given is not None:
        known = [hmac.compare_digest(ticket(hash).encode(), given.encode()) for hash in roles]  # all, in the same time
        if any(known):
            return
    keyring.check(key, "reader")


def login_address(request: Request) -> str:
    """The page that asks for a key and then comes back here."""
    here = request.url.path
    return "/login" if here == "/" else f"/login?next={quote(here)}"


def destination(text: str | None) -> str:
    """Where to go after the login: a page of the dashboard and nothing else.

    >>> destination("/experiments/colours"), destination("//elsewhere.example"), destination(None)
    ('/experiments/colours', '/', '/')
    """
    return quote(text) if text is not None and text.startswith("/experiments/") and "\\" not in text else "/"


async def form_of(request: Request) -> dict[str, str]:
    """The fields of a form."""
    _check_origin(request)
    fields = parse_qs((await request.body()).decode("utf-8", "replace"))
    return {name: values[0] for name, values in fields.items()}


def log_in(keyring: Keyring, request: Request, fields: dict[str, str]) -> Response:
    """A ticket for the key in a form, or an error."""
    key = fields.get("key", "").strip()
    keyring.check(key or None, "reader")
    answer = RedirectResponse(destination(fields.get("next")), 303)
    answer.set_cookie(
        COOKIE, ticket(hashed(key)), httponly=True, samesite="strict", secure=_encrypted(request), path="/"
    )
    return answer


def log_out(request: Request) -> Response:
    """Take the ticket back."""
    _check_origin(request)
    answer = RedirectResponse("/", 303)
    answer.delete_cookie(COOKIE, httponly=True, samesite="strict", secure=_encrypted(request), path="/")
    return answer


def _encrypted(request: Request) -> bool:
    """Whether the browser speaks TLS, with us or with a proxy before us."""
    return request.url.scheme == "https" or request.headers.get("origin", "").startswith("https://")


def _check_origin(request: Request) -> None:
    origin, host = request.headers.get("origin"), request.headers.get("host")
    if origin is not None and origin.partition("://")[2] != host:
        raise ApiError(
            403,
            "other-origin",
            f"this form was sent from a page of {origin}, and the server was asked for as {host}. Open /login here; a "
            "proxy before the server must pass the header Host on as it came.",
        )
