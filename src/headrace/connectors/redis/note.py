"""The note of a Redis sink: a key beside its rows that has their writer and their newest epoch.

_headrace:PREFIX    a hash
  id                              the checkpoint and the query, as a digest
  job, sink, checkpoint, query    the same as text
  term                            the newest start of the checkpoint: one with a smaller term was replaced
  epoch                           the newest epoch
  identity                        the identity of that epoch; missing if a version without identities wrote it
  part                            the progress of an epoch that is being written
  clearing                        set while keys of another checkpoint remain to be removed
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from headrace.errors import HeadraceError
from headrace.points import point
from headrace.ports import Held, Holder, Mark, Ownership, SinkContext

Part = tuple[Sequence[str], Sequence[str]]
"""Keys to delete, and keys to write."""

NOTES = "_headrace:"

# Writes a part of an epoch if the note is as this start left it, without that epoch; else returns the note. KEYS: the note. ARGV: id, term,
# epoch, its identity, the last epoch that this run has seen there, the note's `part` before and after this one (empty before the first and
# after the last part), the number of keys to delete, these keys, then the keys to write: a key, 0 and its value; or a key, the number of
# fields and values in its hash, and these.
_WRITE = """
local note = redis.call('HMGET', KEYS[1], 'id', 'term', 'epoch', 'identity', 'part')
local newest = note[3] or '-1'
if note[1] ~= ARGV[1] or note[2] ~= ARGV[2] or newest ~= ARGV[5] or tonumber(newest) >= tonumber(ARGV[3]) then
  return {note[1] or '', note[2] or '0', newest, note[4] or ''}
end
if ARGV[6] ~= '' and ARGV[6] ~= note[5] then return {'LOST'} end
local at, gone = 9, tonumber(ARGV[8])
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
if ARGV[7] ~= '' then
  redis.call('HSET', KEYS[1], 'part', ARGV[7])
else
  redis.call('HSET', KEYS[1], 'epoch', ARGV[3], 'identity', ARGV[4])
  redis.call('HDEL', KEYS[1], 'part')
end
return {'DONE'}
"""

# Claims the keys for a start, if the note has not changed since it was read. KEYS: the note. ARGV: its id, term and sink as read; whether
# the present keys have to be removed; then fields and values of the note.
_CLAIM = """
local note = redis.call('HMGET', KEYS[1], 'id', 'term', 'sink')
for i = 1, 3 do if (note[i] or '') ~= ARGV[i] then return 0 end end
if ARGV[4] == '1' then
  redis.call('DEL', KEYS[1])
  redis.call('HSET', KEYS[1], 'clearing', '1')
end
redis.call('HSET', KEYS[1], unpack(ARGV, 5))
return 1
"""
_FIELDS = ("id", "term", "sink", "job", "checkpoint", "query", "clearing", "epoch", "identity")

# Removes keys that another checkpoint wrote; without keys, notes that all are removed. KEYS: the note. ARGV: id, term, then keys.
_CLEAR = """
local note = redis.call('HMGET', KEYS[1], 'id', 'term')
if note[1] ~= ARGV[1] or note[2] ~= ARGV[2] then return note[2] or '' end
for i = 3, #ARGV do redis.call('UNLINK', ARGV[i]) end
if #ARGV == 2 then redis.call('HDEL', KEYS[1], 'clearing') end
return 'DONE'
"""


class Note:
    """The note of the keys that begin with `prefix`, for one start of a sink; `place` names the keys in errors."""

    def __init__(self, server: Any, prefix: str, place: str, context: SinkContext) -> None:
        self.key = NOTES + prefix
        self._server = server
        self._context = context
        by_hand = f"delete the keys and {self.key} by hand: fresh=True does not, because another job wrote them"
        self._own = Ownership(context, place, each="prefix", by_hand=by_hand)
        self._id = self._own.key()
        self._write = server.register_script(_WRITE)

    def mark(self) -> Mark:
        """The last epoch that this checkpoint has written."""
        id, epoch, identity = self._server.hmget(self.key, "id", "epoch", "identity")
        if id != self._id.encode():
            return Mark()
        return replace(_mark((epoch or b"-1").decode(), (identity or b"").decode()), claimed=True)

    def may_claim(self) -> None:
        """Raise what `claim` would raise, and change nothing."""
        self._to_be_emptied(self._read())

    def _read(self) -> dict[str, str]:
        return {name: (value or b"").decode() for name, value in zip(_FIELDS, self._server.hmget(self.key, *_FIELDS), strict=True)}

    def _to_be_emptied(self, note: Mapping[str, str]) -> bool:
        """Whether the keys belong to another checkpoint, and are removed first."""
        holders = [Holder(note["job"], note["sink"], note["checkpoint"], note["query"], int(note["term"] or 0))] if note["id"] else []
        self._own.refuse_twice(holders)
        return self._own.empties(holders)

    def claim(self) -> bool:
        """Claim the keys for this start. Returns whether keys that another checkpoint of the job wrote remain to be removed, as with
        `fresh`.
        """
        context, own = self._context, self._own
        words = ("job", context.job, "sink", context.name, "checkpoint", context.checkpoint_id, "query", context.query)
        while True:
            note = self._read()
            emptied = self._to_be_emptied(note)
            mine = note["id"] == self._id
            own.claim(Held(_mark(note["epoch"] or "-1", note["identity"]), int(note["term"] or 0)) if mine else Held())
            read = (note["id"], note["term"], note["sink"], int(emptied))
            if self._server.eval(_CLAIM, 1, self.key, *read, "id", self._id, "term", context.term, *words):
                return emptied or bool(note["clearing"])

    def clear(self, keys: Sequence[bytes]) -> None:
        """Remove keys that another checkpoint wrote, unless another process has taken over; without keys, note that all are removed."""
        answer = self._server.eval(_CLEAR, 1, self.key, self._id, self._context.term, *keys)
        if answer != b"DONE":
            self._own.refuse_successor(int(answer or 0))
            raise self._gone()

    def write(self, epoch: int, identity: str, parts: Sequence[Part], value: Callable[[str], Sequence[Any]]) -> None:
        """Write an epoch part by part, and record it with the last one; an epoch that is there already stays as it is. `value` gives the
        words for a key to write. Raises if the server was restored to an earlier state while the job ran.
        """
        before = ""
        for number, (gone, come) in enumerate(parts, 1):
            last = number == len(parts)
            if last:
                point("in sink commit", self._context.name)
            after = "" if last else f"{epoch}:{number}"
            head = (self._id, self._context.term, epoch, identity, self._own.last.epoch, before, after, len(gone), *gone)
            answer, *details = self._write(keys=[self.key], args=[*head, *(word for key in come for word in value(key))])
            if answer != b"DONE":
                self._check(answer, details, epoch, identity)
                return
            before = after
        self._own.wrote(epoch, identity)

    def _check(self, answer: bytes, details: Sequence[bytes], epoch: int, identity: str) -> None:
        """Raise the error for a part that the server has rejected, unless its epoch is there already."""
        import redis

        if answer == b"LOST":
            # the sink sends the whole epoch again, as after any other crash
            raise redis.ConnectionError(f"{self.key} no longer has the first parts of epoch {epoch}")
        if answer != self._id.encode():
            raise self._gone()
        term, *mark = (detail.decode() for detail in details)
        if self._own.admits(Held(_mark(*mark), int(term)), epoch, identity):
            # the sink sends the epoch again, to a note that is as expected
            raise redis.ConnectionError(f"{self.key} was a different one for a moment")

    def _gone(self) -> HeadraceError:
        return HeadraceError(
            "SINK_FAILED",
            f"{self._context.name}: the key {self.key}, which stores the last epoch, is gone or belongs to another writer",
            hint="start over with fresh=True; if the server evicts keys, give it more memory or another eviction policy",
        )


def _mark(epoch: str, identity: str) -> Mark:
    return Mark(int(epoch), identity)
