"""Keys: who may do what. Only their hashes are kept."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from itertools import count

from belated.errors import ApiError, InvalidParameter
from belated.service.core.timestamps import now
from belated.service.storage.journal import Journal

ROLES = ("reader", "writer", "admin")
"""Each may do what those before it may."""


def make_key(journal: Journal, role: str, name: str) -> str:
    """A new key, to be shown once."""
    check_role(role)
    if not re.fullmatch(r"[A-Za-z0-9._-]{1,64}", name):
        raise InvalidParameter(f"name is {name!r}; give 1 to 64 letters, digits, '.', '_' and '-'.")
    with journal.database.transaction():
        if any(name == other and revoked is None for _, other, _, _, revoked in journal.all_keys()):
            raise InvalidParameter(f"there is a key {name!r} already; choose another name, or revoke it first.")
        key = f"bel_{secrets.token_urlsafe(32)}"
        journal.add_key(hashed(key), name, role, now())
    return key


def check_role(role: str) -> None:
    """An error unless there is such a role."""
    if role not in ROLES:
        raise InvalidParameter(f"role is {role!r}; give one of {', '.join(ROLES)}.")


def free_name(journal: Journal, role: str) -> str:
    """A name that no key had yet: the role and a number."""
    used = {name for _, name, *_ in journal.all_keys()}
    return next(name for number in count(1) if (name := f"{role}-{number}") not in used)


def revoke_key(journal: Journal, name: str) -> None:
    """No longer take the key of this name."""
    with journal.database.transaction():
        if not any(name == other and revoked is None for _, other, _, _, revoked in journal.all_keys()):
            raise InvalidParameter(f"there is no key {name!r} in use; list them with belated keys list.")
        journal.revoke_key(name, now())


def hashed(key: str) -> str:
    """What is kept of a key."""
    return hashlib.sha256(key.encode()).hexdigest()


class Keyring:
    """The keys in use, as they were when they were last read."""

    def __init__(self, journal: Journal, *, needed: bool = False) -> None:
        self._journal = journal
        self._needed = needed
        self.refresh()

    def refresh(self) -> None:
        """Read the keys again; if that cannot be done, those that are known stay in use."""
        keys = self._journal.all_keys()
        self._needed = self._needed or bool(keys)
        self._roles = {hash: role for hash, _, role, _, revoked in keys if revoked is None}

    def roles(self) -> dict[str, str] | None:
        """The role of each key in use, by its hash; None where there was never a key and none is needed."""
        return self._roles if self._needed else None

    def check(self, key: str | None, needed: str) -> None:
        """An error unless the key may do what needs this role; without any keys everybody may."""
        roles = self.roles()
        if roles is None:
            return
        if key is None:
            raise ApiError(401, "no-key", "send a key: Authorization: Bearer KEY. belated keys create makes one.")
        given = hashed(key)
        found = None
        for known, role in roles.items():  # all of them, so that the time tells nothing
            if hmac.compare_digest(known, given):
                found = role
        if found is None:
            raise ApiError(401, "unknown-key", "this key is unknown or was revoked; belated keys create makes one.")
        if ROLES.index(found) < ROLES.index(needed):
            raise ApiError(403, "not-allowed", f"this needs a key of role {needed}, and yours is a {found}'s.")
