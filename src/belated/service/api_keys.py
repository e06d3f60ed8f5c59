"""API keys and their roles. Only hashes are stored."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from itertools import count

from belated.errors import InvalidParameter
from belated.service import problems, timestamps
from belated.service.storage.journal import Journal

ROLES = ("reader", "writer", "admin")
"""Each includes the permissions of those before it."""


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
            raise problems.NO_KEY.error("send a key: Authorization: Bearer KEY. Create one with belated keys create.")
        key_hash = hash_key(key)
        granted = None
        for other, role in roles.items():  # all of them, in constant time
            if hmac.compare_digest(other, key_hash):
                granted = role
        if granted is None:
            raise problems.UNKNOWN_KEY.error("this key is unknown or was revoked; create one with belated keys create.")
        if ROLES.index(granted) < ROLES.index(needed):
            raise problems.NOT_ALLOWED.error(f"this needs the role {needed}, and the key has the role {granted}.")
