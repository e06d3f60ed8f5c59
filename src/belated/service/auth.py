"""Authentication: API keys and their roles, of which only hashes are stored, and the session cookie of the dashboard.

The cookie, which /login sets in exchange for a key, is derived from the hash of the key: it opens the pages of the
dashboard, but not the API."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from itertools import count
from urllib.parse import parse_qs, quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from belated.errors import InvalidParameter
from belated.service import timestamps
from belated.service.problem_types import ProblemType
from belated.service.storage.journal import Journal

ROLES = ("reader", "writer", "admin")
"""Each includes the permissions of those before it."""
COOKIE = "belated_ticket"
_PURPOSE = b"belated dashboard 1"


def make_key(journal: Journal, role: str, name: str) -> str:
    """Create a key, to be shown once."""
    check_role(role)
    if not re.fullmatch(r"[A-Za-z0-9._-]{1,64}", name):
        raise InvalidParameter(f"name is {name!r}; give 1 to 64 letters, digits, '.', '_' and '-'.")
    with journal.database.transaction():
        if any(name == other and revoked is None for _, other, _, _, revoked in journal.all_keys()):
            raise InvalidParameter(f"there is already a key {name!r}; choose another name, or revoke it first.")
        key = f"bel_{secrets.token_urlsafe(32)}"
        journal.add_key(hash_key(key), name, role, timestamps.now())
    return key


def check_role(role: str) -> None:
    """Raise if there is no such role."""
    if role not in ROLES:
        raise InvalidParameter(f"role is {role!r}; give one of {', '.join(ROLES)}.")


def free_name(journal: Journal, role: str) -> str:
    """A name that no key has had: the role and a number."""
    used = {name for _, name, *_ in journal.all_keys()}
    return next(name for number in count(1) if (name := f"{role}-{number}") not in used)


def revoke_key(journal: Journal, name: str) -> None:
    """Revoke the key with this name."""
    with journal.database.transaction():
        if not any(name == other and revoked is None for _, other, _, _, revoked in journal.all_keys()):
            raise InvalidParameter(f"there is no active key {name!r}; list them with belated keys list.")
        journal.revoke_key(name, timestamps.now())


def hash_key(key: str) -> str:
    """The hash that is stored."""
    return hashlib.sha256(key.encode()).hexdigest()


class Keyring:
    """The active keys, as of the last refresh."""

    def __init__(self, journal: Journal, *, needed: bool = False) -> None:
        self._journal = journal
        self._needed = needed
        self.refresh()

    def refresh(self) -> None:
        """Reload the keys; if that fails, the current ones stay active."""
        keys = self._journal.all_keys()
        self._needed = self._needed or bool(keys)
        self._roles = {hash: role for hash, _, role, _, revoked in keys if revoked is None}

    def roles(self) -> dict[str, str] | None:
        """The role of each active key, by its hash; None if there was never a key and none is needed."""
        return self._roles if self._needed else None

    def check(self, key: str | None, needed: str) -> None:
        """Raise unless the key has this role or a higher one; without any keys everything is allowed."""
        roles = self.roles()
        if roles is None:
            return
        if key is None:
            raise ProblemType.NO_KEY.error(
                "send a key: Authorization: Bearer KEY. Create one with belated keys create."
            )
        key_hash = hash_key(key)
        granted = None
        for other, role in roles.items():  # all of them, in constant time
            if hmac.compare_digest(other, key_hash):
                granted = role
        if granted is None:
            raise ProblemType.UNKNOWN_KEY.error(
                "this key is unknown or was revoked; create one with belated keys create."
            )
        if ROLES.index(granted) < ROLES.index(needed):
            raise ProblemType.NOT_ALLOWED.error(f"this needs the role {needed}, and the key has the role {granted}.")


def bearer_key(request: Request) -> str | None:
    """The key in the Authorization header, if there is one."""
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    return key.strip() if scheme.lower() == "bearer" and key.strip() else None


# ---- the dashboard ----


def session_cookie(key_hash: str) -> str:
    """The cookie for the key with this hash."""
    return hmac.new(key_hash.encode(), _PURPOSE, "sha256").hexdigest()


def check_reader(keyring: Keyring, request: Request) -> None:
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


async def log_out(request: Request) -> Response:
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
        raise ProblemType.OTHER_ORIGIN.error(
            f"this form was sent from a page of {origin}, but the host of the request was {host}. Open /login on this "
            "server; a reverse proxy must pass the Host header through unchanged."
        )
