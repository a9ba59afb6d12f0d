"""The address of a server: `redis://host:6379/0`, or `rediss://` with TLS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

from headrace.ports.options import address, wrong


@dataclass(frozen=True)
class Address:
    """A server, one of its databases, and whether TLS is used."""

    host: str
    port: int
    database: int
    tls: bool

    def __str__(self) -> str:
        return f"{'rediss' if self.tls else 'redis'}://{self.host}:{self.port}/{self.database}"


def address_of(verb: str, url: Any) -> Address:
    """The parts of an address, which cannot hold a secret.

    >>> address_of("lookup.redis", "redis://localhost")
    Address(host='localhost', port=6379, database=0, tls=False)
    """
    example = "redis://localhost:6379/0, or rediss://... over TLS"
    parts = address(url)
    database = parts.path.strip("/") or "0"
    if parts.password is not None or parts.username is not None:
        raise wrong(f"{verb}: the address contains a user or a password", 'use user="app" and password=hr.secret("REDIS_PASSWORD")')
    if parts.scheme not in ("redis", "rediss") or not parts.hostname or not database.isdigit() or parts.query or parts.fragment:
        raise wrong(f"{verb}: the address cannot be {url!r}", f"it is {example}")
    return Address(parts.hostname, parts.port or 6379, int(database), parts.scheme == "rediss")


def server_of(url: Any) -> str | None:
    """One spelling for all addresses of a database, without other options of the client; None if it is no address.

    >>> server_of("redis://Cache"), server_of("redis://cache:6379/?db=0"), server_of("unix:///run/redis.sock")
    ('redis://cache:6379/0', 'redis://cache:6379/0', 'unix:///run/redis.sock?db=0')
    """
    parts = address(url)
    host = f"{parts.hostname or 'localhost'}:{parts.port or 6379}"
    if parts.scheme not in ("redis", "rediss", "unix"):
        return None
    path = "" if parts.scheme == "unix" else parts.path.strip("/")
    database = parse_qs(parts.query).get("db", [path])[0] or "0"
    return f"unix://{parts.path}?db={database}" if parts.scheme == "unix" else f"{parts.scheme}://{host}/{database}"
