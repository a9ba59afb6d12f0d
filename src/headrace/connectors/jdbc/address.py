"""Addresses of databases and names of tables, as users write them."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from headrace.ports.options import path_of, wrong

KINDS = {"postgresql": "postgresql", "postgres": "postgresql", "mariadb": "mariadb", "mysql": "mariadb", "sqlite": "sqlite"}
SPELLED = '"postgresql://host/database", "mariadb://host/database" or "sqlite:file.db"'

_PORTS = {"postgresql": 5432, "mariadb": 3306}
_SECRETS = ("password", "pass", "pwd", "sslpassword", "keystorepassword", "truststorepassword", "keypassword")
_PART = re.compile(r'\s*(?:"((?:[^"]|"")+)"|`((?:[^`]|``)+)`|([^."`]+?))\s*(?:\.|$)')


@dataclass(frozen=True)
class Address:
    """The address of a database: its kind, and the part after `jdbc:KIND:` in the URL for its driver."""

    kind: str
    rest: str
    user: str | None = None

    @property
    def jdbc(self) -> str:
        # a relative path starts in the job's folder, which may differ from the JVM's
        return f"jdbc:{self.kind}:{os.path.abspath(self.rest) if self.kind == 'sqlite' else self.rest}"

    @property
    def file(self) -> Path | None:
        """The file of an SQLite database."""
        return Path(os.path.abspath(self.rest.partition("?")[0])) if self.kind == "sqlite" else None

    @property
    def removed(self) -> bool:
        """Whether the database is a missing file."""
        return self.file is not None and not self.file.exists()

    @property
    def spelled(self) -> str:
        """One spelling for all addresses of a database, without options of its driver."""
        rest = self.rest.partition("?")[0]
        if self.kind == "sqlite":
            return f"sqlite:{os.path.realpath(rest)}"
        begins, _, path = rest.partition("//")
        hosts, _, name = path.partition("/")
        each = (host if re.search(r":\d+$", host) else f"{host}:{_PORTS[self.kind]}" for host in hosts.lower().split(","))
        return f"{self.kind}:{begins}//{','.join(each)}/{name}"

    def __str__(self) -> str:
        return f"{self.kind}:{self.rest.partition('?')[0]}"


def address_of(verb: str, url: object) -> Address:
    """The address that a user gave.

    >>> print(address_of("write.jdbc", "jdbc:postgresql://db:5433/shop?sslmode=require"))
    postgresql://db:5433/shop
    >>> address_of("write.jdbc", "mysql://app@db/shop")
    Address(kind='mariadb', rest='//db/shop', user='app')
    """
    kind, colon, rest = str(url).removeprefix("jdbc:").partition(":") if isinstance(url, str) else ("", "", "")
    if not colon or kind.lower() not in KINDS or not rest or "\0" in rest:
        raise wrong(f"{verb}: this is not an address of a supported database", f"addresses look like {SPELLED}")
    database_kind = KINDS[kind.lower()]
    if database_kind == "sqlite":
        return Address(database_kind, _file(verb, rest))
    try:
        parts = urlsplit(rest, allow_fragments=False)
    except ValueError:
        raise wrong(f"{verb}: this is not the address of a database", f"addresses look like {SPELLED}") from None
    if parts.password is not None or any(name.lower() in _SECRETS for name in parse_qs(parts.query, keep_blank_values=True)):
        raise wrong(f"{verb}: the address contains a password", 'pass it as a secret: password=hr.secret("DB_PASSWORD")')
    if not parts.netloc or len(parts.path) < 2:
        raise wrong(f"{verb}: {rest} has no {'server' if not parts.netloc else 'database'}", f"addresses look like {SPELLED}")
    return Address(database_kind, rest.replace(f"{parts.username}@", "", 1) if parts.username else rest, parts.username)


def _file(verb: str, rest: str) -> str:
    path = rest.removeprefix("//") if rest.startswith("///") else rest
    if path.startswith(":memory:") or not path.split("?")[0]:
        raise wrong(f"{verb}: a database in memory is lost with each connection", "name a file: sqlite:out.db")
    return path_of(verb, path, "out.db")


def is_secret(option: str) -> bool:
    """Whether a driver's option holds a secret."""
    return option.lower() in _SECRETS


def table_of(verb: str, name: object) -> tuple[str, ...]:
    """The parts of a table's name; a part with dots has to be quoted.

    >>> table_of("write.jdbc", "public.spend"), table_of("write.jdbc", '"a.b"')
    (('public', 'spend'), ('a.b',))
    """
    parts: list[str] = []
    at = 0
    text = name if isinstance(name, str) else ""
    while at < len(text):
        match = _PART.match(text, at)
        if match is None:
            break
        double, ticked, plain = match.groups()
        parts.append(double.replace('""', '"') if double else ticked.replace("``", "`") if ticked else plain)
        at = match.end()
    if at < len(text) or not 1 <= len(parts) <= 2 or text.endswith("."):
        raise wrong(f"{verb}: {name!r} is not the name of a table", 'write the name, with its schema if needed: "spend", "public.spend"')
    return tuple(parts)
