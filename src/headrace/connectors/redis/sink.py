"""Rows by key in Redis."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar
from urllib.parse import parse_qs, urlsplit

import headrace.ports as ports
from headrace.connectors.redis.address import server_of
from headrace.connectors.redis.connect import check_authority, connected, refusal
from headrace.connectors.redis.note import NOTES, Note, Part
from headrace.connectors.servers import RETRY
from headrace.errors import HeadraceError
from headrace.ports import option
from headrace.ports.aside import NULL_KEY, put_aside
from headrace.ports.options import wrong
from headrace.ports.secrets import Secret
from headrace.ports.written import writers
from headrace.schema import Struct, milliseconds
from headrace.schema.values import zone

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

T = TypeVar("T")

PACKAGES = (ports.Packages(modules=("redis",), extra="redis", name="redis"),)

VERB = "write.redis"

_BATCH = 2000
"""The maximum number of rows in one command, which keeps other clients waiting."""
_CHARACTERS = 16_000_000
"""The maximum number of characters in one command, unless a single row has more: the server limits a command, too."""
_LONGEST = 512 << 20
"""The server's default for the longest text that it takes."""


class Sink(ports.Options, ports.Sink):
    """Writes one Redis key for each row: a row replaces the row with the same key, and a retraction deletes the key.

    The sink is exactly once: a key has the value of its newest row, and a repeated epoch writes the same values. Readers see each row
    whole, but an epoch of more than 2,000 keys may be visible in part for a moment. The server stores the last epoch, so a start detects
    that the checkpoint or the server was restored from a backup (`CHECKPOINT_BEHIND`, `TABLE_REPLACED`). All rows of an epoch pass through
    the driver. Needs `pip install "headrace[redis]"`.

    Examples:
        >>> import headrace as hr
        >>> spend = hr.read.memory([("de", 5)], "country string, spent int", name="spend")
        >>> hr.job("spend", spend.write.redis("redis://cache:6379/0", prefix="spend:", key="country"))
        <Job spend: spend.redis>
        >>> # spend:de   {"country": "de", "spent": 5}
    """

    connector: ClassVar[str] = "redis"

    url: str = option.option(
        "`redis://host:6379/0`, `rediss://…` for TLS, or `unix:///run/redis.sock`; an address with a password anywhere in it is refused",
        lambda verb, _, url: _server(verb, url),
        takes=str,
        kw_only=False,
    )
    prefix: str = option.option(
        "the prefix of all Redis keys of this sink, and of no other keys", lambda verb, _, prefix: _prefix(verb, prefix), takes=str
    )
    key: tuple[str, ...] = option.columns(
        "the unique key. A Redis key is the prefix and the values of these columns; several values are joined by `:`, and `:` and `%` in "
        "them are written `%3A` and `%25`"
    )
    value: str = option.choice(
        '`"json"`: the row as JSON. `"hash"`: a hash with a field per column that is not null',
        ("json", "hash"),
        default="json",
        stored="always",
    )
    user: str | None = option.plain("the user name", default=None)
    password: Secret | None = option.secret('a secret, given by name: `hr.secret("REDIS_PASSWORD")`', default=None)
    ca: str | None = option.certificates(
        "with `rediss://`: a PEM file with the certificate authority of the server, trusted in addition to those of the machine",
        default=None,
    )
    retry: str = option.span(RETRY, called="`retry` of the sink", default="30 seconds", stored="always")

    def __post_init__(self) -> None:
        self._spelled = server_of(self.url)
        self.patience = milliseconds(self.retry, "`retry` of the sink") / 1000
        if self.ca is not None:
            check_authority(VERB, self.url)

    @property
    def traits(self) -> ports.SinkTraits:
        why = "a key written again has the same value, and the server stores the epoch's number with its last rows"
        return ports.SinkTraits(
            "idempotent",
            why,
            ("upsert",),
            replaces=True,
            visible="row",
            cleans="one key with the number of the epoch remains",
            marks=True,
        )

    @property
    def needs(self) -> ports.Packages:
        return PACKAGES[0]

    @property
    def owns(self) -> str:
        return f"{self._spelled}, keys {self.prefix}*"

    def written_as(self, mode: str, schema: Struct) -> dict[str, Any]:
        return {"key": [name.lower() for name in self.key], "value": self.value}

    @classmethod
    def called(cls, options: Mapping[str, Any]) -> str:
        return str(options["prefix"]).strip(":/.- ")

    def describe(self) -> str:
        return f"keys {self.prefix}* of {self.url} by {', '.join(self.key)}"

    def mark(self, context: ports.SinkContext) -> ports.Mark:
        return self._look(context, lambda: self._note.mark())

    def may_open(self, context: ports.SinkContext) -> None:
        self._look(context, lambda: self._note.may_claim())

    def _look(self, context: ports.SinkContext, look: Callable[[], T]) -> T:
        """The result of a look at the note, on a connection of its own."""
        import redis

        self._connect(context)
        try:
            return look()
        except redis.RedisError as problem:
            raise self._refusal(problem) from None
        finally:
            self.close()

    def open(self, context: ports.SinkContext) -> None:
        import redis

        names = [name.lower() for name in context.schema.names]
        self._places = [names.index(name.lower()) for name in self.key]
        self._texts = writers(context.schema, zone(context.time_zone))
        self._connect(context)
        try:
            if self._note.claim():
                self._clear()
            self._longest = self._limit()
        except redis.RedisError as problem:
            raise self._refusal(problem) from None

    def _limit(self) -> int:
        """The longest text that the server takes; the default if the user may not ask."""
        import redis

        try:
            return int(self._server.config_get("proto-max-bulk-len").get("proto-max-bulk-len", _LONGEST))
        except redis.ResponseError:
            return _LONGEST

    def stage(self) -> dict[str, Any]:
        return {"kind": "rows"}

    def unswappable(self) -> str:
        return "Redis gets the keys of an epoch in parts, so readers would see old and new ones"

    def commit(self, epoch: int, staged: ports.Staged) -> None:
        import redis

        if not staged.count:
            return
        rows = staged.rows()
        keyed = [row for row in rows if all(row[place] is not None for place in self._places)]
        letters = [(NULL_KEY, self._json(row)) for row in rows if row[-1] > 0 and any(row[place] is None for place in self._places)]
        gone, come = self._changes(keyed)
        written: dict[str, list[Any]] = {}
        for key, row in come.items():
            words = self._value(key, row)
            if large := self._too_large(words):
                letters.append((large, self._json(row)))
                # The older row of the key is out of date.
                gone.append(key)
            else:
                written[key] = words
        put_aside(self._context, epoch, sorted(letters), 1)
        try:
            self._steadily(lambda: self._send(epoch, staged.identity, gone, written))
        except redis.RedisError as problem:
            raise self._refusal(problem) from None

    def close(self) -> None:
        self._server.close()

    def elsewhere(self, place: ports.Elsewhere) -> Sink | None:
        if place.server is None or self.value != "json":
            return None
        ca = self.ca if place.server.startswith("rediss:") else None
        return Sink(place.server, prefix=f"{place.name}:", key=self.key, user=self.user, password=self.password, ca=ca)

    def uncomparable(self, mode: str) -> str | None:
        return None if self.value == "json" else 'its values are not JSON (value="json")'

    def contents(self, session: SparkSession, schema: Struct, mode: str) -> DataFrame:
        server = self._connected()
        values, keys = [], self._keys(server)
        while some := list(itertools.islice(keys, _BATCH)):
            values += [(value.decode(),) for value in server.mget(some) if value is not None]
        server.close()
        ddl = schema.text.replace("'", "\\'")
        return session.createDataFrame(values, "value string").selectExpr(f"inline(array(from_json(value, '{ddl}')))")

    def discard(self) -> None:
        self._server = self._connected()
        self._forget()
        self._server.delete(NOTES + self.prefix)
        self._server.close()

    def _connected(self) -> Any:
        return connected(VERB, self.url, self.user, self.password, self.ca)

    def _refusal(self, problem: Exception) -> HeadraceError:
        return refusal(self._context.name, self.url, problem)

    def _connect(self, context: ports.SinkContext) -> None:
        self._context = context
        self._server = self._connected()
        self._note = Note(self._server, self.prefix, self.owns, context)

    def _clear(self) -> None:
        """Remove the keys that another checkpoint wrote."""
        remaining_keys = self._keys(self._server)
        while keys := list(itertools.islice(remaining_keys, _BATCH)):
            self._note.clear(keys)
        self._note.clear([])

    def _forget(self) -> None:
        """Remove all keys of the prefix."""
        remaining_keys = self._keys(self._server)
        while keys := list(itertools.islice(remaining_keys, _BATCH)):
            self._server.unlink(*keys)

    def _keys(self, server: Any) -> Iterator[bytes]:
        pattern = "".join(f"\\{sign}" if sign in "*?[]^\\" else sign for sign in self.prefix) + "*"
        keys: Iterator[bytes] = iter(dict.fromkeys(server.scan_iter(pattern, count=1000)))
        return keys

    def _changes(self, rows: list[tuple[Any, ...]]) -> tuple[list[str], dict[str, tuple[Any, ...]]]:
        """The keys that are only retracted, and the newest rows by key."""
        gone: dict[str, None] = {}
        come: dict[str, tuple[Any, ...]] = {}
        name = self._name
        for row in rows:
            if row[-1] > 0:
                come[name(row)] = row
            else:
                gone[name(row)] = None
        return [key for key in gone if key not in come], come

    def _name(self, row: tuple[Any, ...]) -> str:
        """The key of a row. Values of several columns are escaped, so that different values never make the same key."""
        if len(self._places) == 1:
            return self.prefix + str(self._texts[self._places[0]](row[self._places[0]]))
        texts = (str(self._texts[place](row[place])) for place in self._places)
        return self.prefix + ":".join(text.replace("%", "%25").replace(":", "%3A") for text in texts)

    def _send(self, epoch: int, identity: str, gone: list[str], come: Mapping[str, list[Any]]) -> None:
        # an epoch with nothing left to write records its number, too
        parts = list(_parts(gone, come)) or [([], [])]
        self._note.write(epoch, identity, parts, come.__getitem__)

    def _too_large(self, words: list[Any]) -> str:
        """The reason why the server cannot take a row, given as the words to send; empty if it can."""
        for word in words:
            # A character has at most four bytes.
            if isinstance(word, str) and len(word) * 4 > self._longest and (size := len(word.encode())) > self._longest:
                return f"a string of {size} bytes is larger than the server's limit of {self._longest} (proto-max-bulk-len)"
        return ""

    def _columns(self, row: tuple[Any, ...]) -> dict[str, Any]:
        columns = zip(self._context.schema.names, self._texts, row, strict=False)
        return {name: None if value is None else text(value) for name, text, value in columns}

    def _json(self, row: tuple[Any, ...]) -> str:
        return json.dumps(self._columns(row), ensure_ascii=False)

    def _value(self, key: str, row: tuple[Any, ...]) -> list[Any]:
        if self.value == "json":
            return [key, 0, self._json(row)]
        fields = [part for name, value in self._columns(row).items() if value is not None for part in (name, _field(value))]
        return [key, len(fields), *fields] if fields else [key, 2, "", ""]

    def _steadily(self, action: Callable[[], T]) -> T:
        """Run an action, and again while the server is away."""
        import redis

        until: float | None = None
        wait = 0.05
        while True:
            try:
                return action()
            except (redis.ConnectionError, redis.TimeoutError) as problem:
                now = time.monotonic()
                until = now + self.patience if until is None else until
                if isinstance(problem, redis.AuthenticationError) or now >= until:
                    raise
                time.sleep(min(wait, until - now))
                wait = min(wait * 2, 1)


def _server(verb: str, url: Any) -> str:
    """The address of a server, without a password."""
    if server_of(url) is None:
        raise wrong(
            f"{verb}: this is not the address of a Redis server",
            'addresses look like "redis://host:6379/0", with TLS "rediss://host:6379/0"',
        )
    parts = urlsplit(url)
    if parts.password is not None or any("password" in name.lower() for name in parse_qs(parts.query, keep_blank_values=True)):
        raise wrong(f"{verb}: the address contains a password", 'pass it as a secret: password=hr.secret("REDIS_PASSWORD")')
    return str(url)


def _prefix(verb: str, prefix: Any) -> str:
    if not isinstance(prefix, str) or not prefix or prefix.startswith(NOTES):
        raise wrong(f"{verb}: prefix cannot be {prefix!r}", 'all keys of the sink begin with it, and no others: prefix="spend:"')
    return prefix


def _field(value: Any) -> str:
    """A field of a hash: a text as it is, any other value as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _parts(gone: list[str], come: Mapping[str, list[Any]]) -> Iterator[Part]:
    """The parts that are sent in one command each: keys to delete, or keys to write."""
    for at in range(0, len(gone), _BATCH):
        yield gone[at : at + _BATCH], []
    part: list[str] = []
    size = 0
    for key, words in come.items():
        more = sum(len(word) for word in words if isinstance(word, str))
        if part and (len(part) == _BATCH or size + more > _CHARACTERS):
            yield [], part
            part, size = [], 0
        part.append(key)
        size += more
    if part:
        yield [], part
