"""Rows by key in Redis."""

from __future__ import annotations

import hashlib
import itertools
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar
from urllib.parse import parse_qs, urlsplit

import headrace.ports as ports
from headrace.connectors.redis.address import server_of
from headrace.connectors.redis.connect import authority, connected, refusal
from headrace.errors import CheckpointError, HeadraceError
from headrace.points import point
from headrace.ports.aside import NULL_KEY, put_aside
from headrace.ports.options import choice, columns_named, wrong
from headrace.ports.secrets import Secret, secret_of
from headrace.ports.written import writers
from headrace.schema import Struct, milliseconds
from headrace.schema.values import zone

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")

PACKAGES = (ports.Packages(modules=("redis",), extra="redis", name="redis"),)

VERB = "write.redis"

_BATCH = 2000
"""Rows that the server takes in one go: other clients wait no longer than for these."""

# Each batch looks at the term first, in the same go. KEYS: the note. ARGV: id, term, epoch, whether the epoch ends, how many keys go, these
# keys, then what comes: a key, 0 and its value; or a key, how many fields and values its hash has, and these.
_WRITE = """
local note = redis.call('HMGET', KEYS[1], 'term', 'epoch', 'id')
if note[3] ~= ARGV[1] then return 'GONE' end
if tonumber(note[1]) > tonumber(ARGV[2]) then return note[1] end
if tonumber(note[2] or '-1') >= tonumber(ARGV[3]) then return 'THERE' end
local at, gone = 6, tonumber(ARGV[5])
for i = at, at + gone - 1 do redis.call('DEL', ARGV[i]) end
at = at + gone
while at < #ARGV do
  local count = tonumber(ARGV[at + 1])
  if count == 0 then
    redis.call('SET', ARGV[at], ARGV[at + 2])
    at = at + 3
  else
    redis.call('DEL', ARGV[at])
    redis.call('HSET', ARGV[at], unpack(ARGV, at + 2, at + 1 + count))
    at = at + 2 + count
  end
end
if ARGV[4] == '1' then redis.call('HSET', KEYS[1], 'epoch', ARGV[3]) end
return 'DONE'
"""

# Takes the keys for a start, and tells whether those of another are still to go. KEYS: the note. ARGV: id, term, whether what another
# checkpoint of the job wrote may be replaced, then fields and values of the note, which are job, sink and checkpoint first.
_CLAIM = """
local note = redis.call('HMGET', KEYS[1], 'id', 'term', 'job', 'sink', 'checkpoint')
local job, sink, checkpoint = ARGV[5], ARGV[7], ARGV[9]
if note[5] == checkpoint and note[2] == ARGV[2] and note[4] ~= sink then return {'TWICE', note[4]} end
if note[1] and note[1] ~= ARGV[1] and (ARGV[3] ~= '1' or note[3] ~= job) then return {'OTHER', note[3], note[4]} end
if note[1] == ARGV[1] and tonumber(note[2]) > tonumber(ARGV[2]) then return {'FENCED', note[2]} end
if note[1] ~= ARGV[1] then redis.call('DEL', KEYS[1]) end
if note[1] and note[1] ~= ARGV[1] then redis.call('HSET', KEYS[1], 'clearing', '1') end
redis.call('HSET', KEYS[1], 'id', ARGV[1], 'term', ARGV[2], unpack(ARGV, 4))
return {'DONE', redis.call('HGET', KEYS[1], 'clearing') or ''}
"""

# Removes keys that another checkpoint wrote; without keys, notes that all have gone. KEYS: the note. ARGV: id, term, then keys.
_CLEAR = """
local note = redis.call('HMGET', KEYS[1], 'id', 'term')
if note[1] ~= ARGV[1] or note[2] ~= ARGV[2] then return note[2] or '' end
for i = 3, #ARGV do redis.call('UNLINK', ARGV[i]) end
if #ARGV == 2 then redis.call('HDEL', KEYS[1], 'clearing') end
return 'DONE'
"""


class Sink(ports.Sink):
    """Keys of Redis, one per row: a row takes the place of the last one with its key, and goes when it is taken away.

    A key is `prefix` and the values of the columns in `key`, with `:` between them. The value is the row as JSON, or with `value="hash"` a
    hash with a field per column, in which nulls are left out. The password, if there is one, is given by its name. `ca` is a file with the
    authority of a server that is spoken to over TLS. A server that is away is waited for as long as `retry` says.

    >>> import headrace as hr
    >>> spend = hr.read.memory([("de", 5)], "country string, spent int", name="spend")
    >>> hr.job("spend", spend.write.redis("redis://cache:6379/0", prefix="spend:", key="country", name="cache"))
    <Job spend: cache>
    >>> # spend:de   {"country": "de", "spent": 5}
    """

    connector: ClassVar[str] = "redis"

    def __init__(
        self,
        url: str,
        *,
        prefix: str,
        key: str | Sequence[str],
        value: str = "json",
        user: str | None = None,
        password: Secret | None = None,
        ca: str | None = None,
        retry: str = "30 seconds",
    ) -> None:
        server = server_of(url)
        if server is None:
            raise wrong(
                f"{VERB}: this is no address of a Redis server",
                'addresses look like "redis://host:6379/0", with TLS "rediss://host:6379/0"',
            )
        parts = urlsplit(url)
        if parts.password is not None or any("password" in name.lower() for name in parse_qs(parts.query, keep_blank_values=True)):
            raise wrong(f"{VERB}: the address holds a password", 'give it by its name: password=hr.secret("REDIS_PASSWORD")')
        if not isinstance(prefix, str) or not prefix or prefix.startswith(_NOTES):
            raise wrong(
                f"{VERB}: prefix cannot be {prefix!r}", 'it is what all keys of the sink begin with, and no others: prefix="spend:"'
            )
        self.url = url
        self._spelled = server
        self.prefix = prefix
        self._key = columns_named(VERB, "key", key)
        if not self._key:
            raise wrong(f"{VERB}: key cannot be {key!r}", 'name columns: key="id", or key=["shop", "day"]')
        self.value = choice(VERB, "value", value, ("json", "hash"))
        self.user = user
        self.password = secret_of(VERB, "password", password)
        self.ca = authority(VERB, ca, url)
        self.retry = retry
        self.patience = milliseconds(retry, "the retry") / 1000

    @property
    def traits(self) -> ports.SinkTraits:
        why = "a key has the value of its newest row however often it is written, and the server notes the epoch with the last ones"
        return ports.SinkTraits(
            "idempotent",
            why,
            ("upsert",),
            replaces=True,
            visible="row",
            cleans="one key of its own, which notes the epoch, stays",
            marks=True,
        )

    @property
    def needs(self) -> ports.Packages:
        return PACKAGES[0]

    @property
    def key(self) -> tuple[str, ...]:
        return self._key

    @property
    def owns(self) -> str:
        return f"{self._spelled}, keys {self.prefix}*"

    def options(self) -> dict[str, Any]:
        given = {
            "url": self.url,
            "prefix": self.prefix,
            "key": list(self._key),
            "value": self.value,
            "user": self.user,
            "password": self.password and self.password.to_json(),
            "ca": self.ca,
            "retry": self.retry,
        }
        return {name: value for name, value in given.items() if value is not None}

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Sink:
        # What a stored plan is looked at for may need no file that was there when it was made.
        made = cls(**{name: value for name, value in options.items() if name != "ca"})
        made.ca = options.get("ca")
        return made

    def describe(self) -> str:
        return f"keys {self.prefix}* of {self.url} by {', '.join(self._key)}"

    def open(self, context: ports.SinkContext) -> None:
        import redis

        self._context = context
        self._id = hashlib.sha256(f"{context.checkpoint_id}\0{context.query}".encode()).hexdigest()[:32]
        names = [name.lower() for name in context.schema.names]
        self._places = [names.index(name.lower()) for name in self._key]
        self._texts = writers(context.schema, zone(context.time_zone))
        self._server = self._connected()
        self._write = self._server.register_script(_WRITE)
        try:
            self._claim()
        except redis.RedisError as problem:
            raise self._told(problem) from None

    def stage(self) -> dict[str, Any]:
        return {"kind": "rows"}

    def commit(self, epoch: int, staged: ports.Staged) -> None:
        import redis

        if not staged.count:
            return
        rows = staged.rows()
        keyed = [row for row in rows if all(row[place] is not None for place in self._places)]
        letters = sorted((NULL_KEY, self._json(row)) for row in rows if row[-1] > 0 and any(row[place] is None for place in self._places))
        if letters:
            put_aside(self._context, epoch, letters)
        gone, come = self._changes(keyed)
        try:
            self._steadily(lambda: self._send(epoch, gone, come))
        except redis.RedisError as problem:
            raise self._told(problem) from None

    def close(self) -> None:
        self._server.close()

    def elsewhere(self, place: ports.Elsewhere) -> Sink | None:
        if place.server is None or self.value != "json":
            return None
        ca = self.ca if place.server.startswith("rediss:") else None
        return Sink(place.server, prefix=f"{place.name}:", key=self._key, user=self.user, password=self.password, ca=ca)

    def contents(self, session: SparkSession, schema: Struct) -> Iterable[Sequence[Any]]:
        server = self._connected()
        found, keys = [], self._keys(server)
        while some := list(itertools.islice(keys, _BATCH)):
            found += [(value.decode(),) for value in server.mget(some) if value is not None]
        server.close()
        ddl = schema.text.replace("'", "\\'")
        return session.createDataFrame(found, "value string").selectExpr(f"inline(array(from_json(value, '{ddl}')))").collect()

    def discard(self) -> None:
        self._server = self._connected()
        self._forget()
        self._server.delete(_NOTES + self.prefix)
        self._server.close()

    def _connected(self) -> Any:
        return connected(VERB, self.url, self.user, self.password, self.ca)

    def _told(self, problem: Exception) -> HeadraceError:
        return refusal(self._context.name, self.url, problem)

    def _claim(self) -> None:
        context = self._context
        note = _NOTES + self.prefix
        told = ("job", context.job, "sink", context.name, "checkpoint", context.checkpoint_id, "query", context.query)
        answer = self._server.eval(_CLAIM, 1, note, self._id, context.term, int(context.fresh), *told)
        said = [part.decode() for part in answer]
        if said[0] == "TWICE":
            raise CheckpointError(
                "FOLDER_OWNED",
                f"the sinks {said[1]} and {context.name} both write to {self.owns}",
                hint="give each sink a prefix of its own; streams of the same columns go into one by union.",
            )
        if said[0] == "OTHER":
            own = said[1] == context.job
            by_hand = f"or remove these and the key {note} by hand: fresh=True does not, as another job wrote them."
            cure = "go on from the checkpoint that wrote them, or start with fresh=True: they go." if own else by_hand
            raise CheckpointError(
                "TABLE_OWNED",
                f"the keys {self.prefix}* hold what sink {said[2]} of job {said[1]} wrote from another checkpoint",
                hint=f"write to keys of another prefix, {cure}",
            )
        if said[0] == "FENCED":
            raise self._fenced(said[1])
        if said[1]:
            self._clear()

    def _clear(self) -> None:
        """Remove what another checkpoint wrote, as long as no other process has taken over."""
        clear = self._server.register_script(_CLEAR)
        found = self._keys(self._server)
        more = True
        while more:
            keys = list(itertools.islice(found, _BATCH))
            answer = clear(keys=[_NOTES + self.prefix], args=[self._id, self._context.term, *keys])
            if answer != b"DONE":
                raise self._fenced(answer.decode())
            more = bool(keys)

    def _forget(self) -> None:
        """Remove all keys of the prefix."""
        found = self._keys(self._server)
        while keys := list(itertools.islice(found, _BATCH)):
            self._server.unlink(*keys)

    def _keys(self, server: Any) -> Iterator[bytes]:
        pattern = "".join(f"\\{sign}" if sign in "*?[]^\\" else sign for sign in self.prefix) + "*"
        keys: Iterator[bytes] = iter(dict.fromkeys(server.scan_iter(pattern, count=1000)))
        return keys

    def _changes(self, given: list[tuple[Any, ...]]) -> tuple[list[str], dict[str, tuple[Any, ...]]]:
        """The keys that only go, and the newest row of those that come."""
        gone: dict[str, None] = {}
        come: dict[str, tuple[Any, ...]] = {}
        name = self._name
        for row in given:
            if row[-1] > 0:
                come[name(row)] = row
            else:
                gone[name(row)] = None
        return [key for key in gone if key not in come], come

    def _name(self, row: tuple[Any, ...]) -> str:
        """The key of a row. Of several columns each is written so that no other values make the same key."""
        if len(self._places) == 1:
            return self.prefix + str(self._texts[self._places[0]](row[self._places[0]]))
        texts = (str(self._texts[place](row[place])) for place in self._places)
        return self.prefix + ":".join(text.replace("%", "%25").replace(":", "%3A") for text in texts)

    def _send(self, epoch: int, gone: list[str], come: Mapping[str, tuple[Any, ...]]) -> None:
        batches = list(_batches(gone, list(come)))
        for number, (goes, comes) in enumerate(batches, 1):
            last = number == len(batches)
            if last:
                point("in sink commit", self._context.name)
            told: list[Any] = [self._id, self._context.term, epoch, int(last), len(goes), *goes]
            for key in comes:
                told.extend(self._value(key, come[key]))
            answer = self._write(keys=[_NOTES + self.prefix], args=told)
            if answer == b"THERE":
                return
            if answer == b"GONE":
                raise HeadraceError(
                    "SINK_FAILED",
                    f"{self._context.name}: the key {_NOTES + self.prefix} is gone or another's, which says what epochs are there",
                    hint="start over with fresh=True; if the server evicts keys, give it more room or another policy.",
                )
            if answer != b"DONE":
                raise self._fenced(answer.decode())

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
        """Do it, and again where the server was away."""
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

    def _fenced(self, term: str) -> HeadraceError:
        return HeadraceError(
            "SINK_FENCED",
            f"{self._context.name}: start {term} of this job has taken over {self.prefix}*, and this is start {self._context.term}",
            hint="nothing more of this epoch was written; the process that took over goes on with it.",
        )


_NOTES = "_headrace:"


def _field(value: Any) -> str:
    """A field of a hash: a text as it is, everything else as JSON has it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _batches(gone: list[str], come: list[str]) -> Iterator[tuple[list[str], list[str]]]:
    """What the server takes in one go: keys that go, and keys that come."""
    for at in range(0, len(gone), _BATCH):
        yield gone[at : at + _BATCH], []
    for at in range(0, len(come), _BATCH):
        yield [], come[at : at + _BATCH]
