"""NATS JWTs (version 2) signed with nkeys: only what MOSAIC needs of operator mode."""

import base64
import hashlib
import json
import re
import secrets
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

import nkeys  # type: ignore[import-untyped]  # ships no types

_HEADER = {"typ": "JWT", "alg": "ed25519-nkey"}
_UNLIMITED = -1
REPLY_TTL_S = 3900
"""Seconds in which a request may be answered: longer than any verb waits (`mosaic_contracts.verbs`), of which an import
of a large archive waits longest."""
_JETSTREAM_BYTES = 2 * 2**30

_PART = re.compile(r"BEGIN (?:NATS )?(USER JWT|USER NKEY SEED)-+\s+([\w.-]+)\s+-+END")

OPERATOR = nkeys.PREFIX_BYTE_OPERATOR
ACCOUNT = nkeys.PREFIX_BYTE_ACCOUNT
USER = nkeys.PREFIX_BYTE_USER


def new_seed(kind: int) -> str:
    """A fresh private key of `kind`, in seed form."""
    return seed_of(kind, secrets.token_bytes(32))


def seed_of(kind: int, secret: bytes) -> str:
    """The private key of `kind` that 32 secret bytes are, in seed form."""
    seed: bytes = nkeys.encode_seed(secret, kind)
    return seed.decode()


def public_key(seed: str) -> str:
    """The public key that belongs to a seed."""
    key: bytes = nkeys.from_seed(bytearray(seed.encode())).public_key
    return key.decode()


def permissions(publish: list[str], subscribe: list[str]) -> dict[str, Any]:
    """What a user may do; replying to a request is allowed in addition."""
    return {
        "pub": {"allow": publish},
        "sub": {"allow": subscribe},
        "resp": {"max": 1, "ttl": REPLY_TTL_S * 10**9},
        "subs": _UNLIMITED,
        "data": _UNLIMITED,
        "payload": _UNLIMITED,
    }


def operator_jwt(operator_seed: str) -> str:
    """The operator, signed by itself."""
    return _sign(operator_seed, public_key(operator_seed), "mosaic", {"type": "operator"})


def account_jwt(
    operator_seed: str,
    account: str,
    name: str,
    scope: tuple[str, dict[str, Any]] | None,
    revoked: Mapping[str, int] | None = None,
) -> str:
    """An account with JetStream. `scope`: a signing key that can mint only users of that template.

    `revoked`: public keys of users whose JWTs are refused, by when they were issued at the latest (seconds since the
    epoch).
    """
    claims: dict[str, Any] = {
        "type": "account",
        "limits": {
            **dict.fromkeys(
                ("subs", "data", "payload", "imports", "exports", "conn", "leaf"), _UNLIMITED
            ),
            "wildcards": True,
            "disk_storage": _JETSTREAM_BYTES if scope else 0,
            "mem_storage": 0,
            "streams": _UNLIMITED if scope else 0,
            "consumer": _UNLIMITED if scope else 0,
        },
    }
    if scope is not None:
        key, template = scope
        claims["signing_keys"] = [
            {"kind": "user_scope", "key": key, "role": "run", "template": template}
        ]
    if revoked:
        claims["revocations"] = dict(revoked)
    return _sign(operator_seed, account, name, claims)


def user_jwt(
    signer_seed: str,
    account: str,
    user: str,
    name: str,
    permitted: dict[str, Any] | None = None,
    lifetime_s: float | None = None,
) -> str:
    """A user. Without `permitted` it takes what the scope of the signing key says."""
    claims = {**(permitted or {}), "type": "user", "issuer_account": account}
    return _sign(signer_seed, user, name, claims, lifetime_s)


def creds_text(jwt: str, seed: str) -> str:
    """Content of a creds file, as every NATS client reads it."""
    return (
        f"-----BEGIN NATS USER JWT-----\n{jwt}\n------END NATS USER JWT------\n\n"
        f"-----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n"
    )


class CredsParts(NamedTuple):
    """What a creds file holds."""

    token: str
    seed: str
    claims: dict[str, Any]
    """Claims of the token, unverified: the broker verifies them."""


def read_creds(text: str) -> CredsParts:
    """Take a creds file apart.

    Raises:
        ValueError, nkeys.NkeysError: it is none.
    """
    found = dict(_PART.findall(text))
    if set(found) != {"USER JWT", "USER NKEY SEED"}:
        raise ValueError("it lacks the JWT or the seed")
    token, seed = found["USER JWT"], found["USER NKEY SEED"]
    nkeys.from_seed(bytearray(seed.encode()))
    _, claims, _ = token.split(".")
    return CredsParts(token, seed, json.loads(_unbase64(claims)))


def is_refusal(said: str) -> bool:
    """Whether that is how the broker refuses somebody's credentials."""
    return any(word in said.lower() for word in ("authorization violation", "authentication "))


def _sign(
    signer_seed: str, subject: str, name: str, nats: dict[str, Any], lifetime_s: float | None = None
) -> str:
    now = int(time.time())
    claims: dict[str, Any] = {
        "iat": now,
        "iss": public_key(signer_seed),
        "name": name,
        "sub": subject,
        "nats": {**nats, "version": 2},
    }
    if lifetime_s is not None:
        claims["exp"] = int(now + lifetime_s)
    digest = hashlib.sha256(_json(claims)).digest()
    claims["jti"] = base64.b32encode(digest).decode().rstrip("=")
    signed = f"{_base64(_json(_HEADER))}.{_base64(_json(claims))}"
    signature = nkeys.from_seed(bytearray(signer_seed.encode())).sign(signed.encode())
    return f"{signed}.{_base64(signature)}"


def _json(value: dict[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":"), sort_keys=True).encode()


def _unbase64(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")
