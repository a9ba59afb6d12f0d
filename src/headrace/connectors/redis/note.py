"""The note of a Redis sink: a key beside its rows that says who writes them, and which epoch they have.

_headrace:PREFIX    a hash
  id                              the checkpoint and the query, as a digest
  job, sink, checkpoint, query    the same in words
  term                            the newest start of the checkpoint: one with a smaller term was replaced
  epoch                           the newest epoch that is there
  identity                        the identity of that epoch; missing where a version without identities wrote it
  part                            how much is there of an epoch that is under way
  clearing                        keys of another checkpoint are still to go
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

from headrace.errors import CheckpointError, HeadraceError
from headrace.points import point
from headrace.ports import Mark, SinkContext

Part = tuple[Sequence[str], Sequence[str]]
"""Keys that go, and keys that come."""

NOTES = "_headrace:"

# Each part of an epoch looks at the note first, in the same go. KEYS: the note. ARGV: id, term, epoch, its identity, the last epoch that
# this run has seen there, what the note says of the part before and of this one (empty before the first and after the last part), how many
# keys go, these keys, then what comes: a key, 0 and its value; or a key, how many fields and values its hash has, and these.
_WRITE = """
local note = redis.call('HMGET', KEYS[1], 'id', 'term', 'epoch', 'identity', 'part')
if note[1] ~= ARGV[1] then return {'GONE'} end
if tonumber(note[2]) > tonumber(ARGV[2]) then return {'FENCED', note[2]} end
local newest = tonumber(note[3] or '-1')
if newest >= tonumber(ARGV[3]) or newest < tonumber(ARGV[5]) then return {'HOLDS', note[3] or '-1', note[4] or ''} end
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
local claimed = redis.call('HMGET', KEYS[1], 'clearing', 'epoch', 'identity')
return {'DONE', claimed[1] or '', claimed[2] or '-1', claimed[3] or ''}
"""

# Removes keys that another checkpoint wrote; without keys, notes that all have gone. KEYS: the note. ARGV: id, term, then keys.
_CLEAR = """
local note = redis.call('HMGET', KEYS[1], 'id', 'term')
if note[1] ~= ARGV[1] or note[2] ~= ARGV[2] then return note[2] or '' end
for i = 3, #ARGV do redis.call('UNLINK', ARGV[i]) end
if #ARGV == 2 then redis.call('HDEL', KEYS[1], 'clearing') end
return 'DONE'
"""


class Note:
    """The note of the keys that begin with `prefix`, for one start of a sink; `place` is what the sink owns."""

    def __init__(self, server: Any, prefix: str, place: str, context: SinkContext) -> None:
        self.key = NOTES + prefix
        self._server = server
        self._prefix = prefix
        self._place = place
        self._context = context
        self._id = hashlib.sha256(f"{context.checkpoint_id}\0{context.query}".encode()).hexdigest()[:32]
        self._write = server.register_script(_WRITE)
        self._last = Mark()

    def mark(self) -> Mark:
        """The last epoch that this checkpoint has written."""
        id, epoch, identity = self._server.hmget(self.key, "id", "epoch", "identity")
        return _mark(epoch or b"-1", identity or b"") if id == self._id.encode() else Mark()

    def claim(self) -> bool:
        """Take the keys for this start; whether keys that another checkpoint of the job wrote are still to go, as with `fresh`."""
        context = self._context
        words = ("job", context.job, "sink", context.name, "checkpoint", context.checkpoint_id, "query", context.query)
        answer, *details = self._server.eval(_CLAIM, 1, self.key, self._id, context.term, int(context.fresh), *words)
        if answer == b"TWICE":
            raise CheckpointError(
                "FOLDER_OWNED",
                f"the sinks {details[0].decode()} and {context.name} both write to {self._place}",
                hint="give each sink a prefix of its own; streams of the same columns go into one by union.",
            )
        if answer == b"OTHER":
            raise self._owned(*(detail.decode() for detail in details))
        if answer == b"FENCED":
            raise self._fenced(details[0])
        clearing, *mark = details
        self._last = _mark(*mark)
        return bool(clearing)

    def clear(self, keys: Sequence[bytes]) -> None:
        """Remove keys that another checkpoint wrote, as long as no other process has taken over; without keys, note that all have gone."""
        answer = self._server.eval(_CLEAR, 1, self.key, self._id, self._context.term, *keys)
        if answer != b"DONE":
            raise self._fenced(answer)

    def write(self, epoch: int, identity: str, parts: Sequence[Part], value: Callable[[str], Sequence[Any]]) -> None:
        """Write an epoch part by part, and note it with the last one; one that is there already stays as it is. `value`: how a key that
        comes is written. A server that was put back to an earlier state while the job ran is refused.
        """
        before = ""
        for number, (gone, come) in enumerate(parts, 1):
            last = number == len(parts)
            if last:
                point("in sink commit", self._context.name)
            after = "" if last else f"{epoch}:{number}"
            head = (self._id, self._context.term, epoch, identity, self._last.epoch, before, after, len(gone), *gone)
            answer, *details = self._write(keys=[self.key], args=[*head, *(word for key in come for word in value(key))])
            if answer != b"DONE":
                self._check(answer, details, epoch, identity)
                break
            before = after
        self._last = Mark(epoch, identity)

    def _check(self, answer: bytes, details: Sequence[bytes], epoch: int, identity: str) -> None:
        """Raise the error for a part that the server has not taken, unless its epoch is there already."""
        import redis

        name = self._context.name
        if answer == b"FENCED":
            raise self._fenced(details[0])
        if answer == b"GONE":
            raise HeadraceError(
                "SINK_FAILED",
                f"{name}: the key {self.key} is gone or another's, which says what epochs are there",
                hint="start over with fresh=True; if the server evicts keys, give it more room or another policy.",
            )
        if answer == b"LOST":
            # whoever sends the epoch sends it again, as after any other crash
            raise redis.ConnectionError(f"{self.key} does not have the first parts of epoch {epoch} any more")
        mark = _mark(*details)
        if not mark.holds(epoch, identity, name):
            raise mark.lacks(self._last, name, self._place)

    def _owned(self, job: str, sink: str) -> CheckpointError:
        own = job == self._context.job
        by_hand = f"or remove these and the key {self.key} by hand: fresh=True does not, as another job wrote them."
        cure = "go on from the checkpoint that wrote them, or start with fresh=True: they go." if own else by_hand
        return CheckpointError(
            "TABLE_OWNED",
            f"the keys {self._prefix}* hold what sink {sink} of job {job} wrote from another checkpoint",
            hint=f"write to keys of another prefix, {cure}",
        )

    def _fenced(self, term: bytes) -> HeadraceError:
        name, own = self._context.name, self._context.term
        return HeadraceError(
            "SINK_FENCED",
            f"{name}: start {term.decode()} of this job has taken over {self._prefix}*, and this is start {own}",
            hint="nothing more of this epoch was written; the process that took over goes on with it.",
        )


def _mark(epoch: bytes, identity: bytes) -> Mark:
    return Mark(int(epoch), identity.decode())
