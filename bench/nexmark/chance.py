"""Random numbers and texts as functions of a seed, a draw and the number of an event, for whole arrays of events at once."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

Numbers = np.ndarray[Any, Any]

_LETTERS, _LONGEST = 1 << 20, 1 << 10


class Chance:
    """Random draws of events. What an event gets depends only on its number, so any part of the stream can be made alone."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        letters = np.arange(_LETTERS)
        self.plain = (ord("a") + self.below("letters", letters, 26)).astype(np.uint8)
        """Letters only, for padding."""
        spaced = self.below("spaces", letters, 13) == 0
        self.spaced = np.where(spaced, np.uint8(ord(" ")), self.plain)
        """Letters, with a space one time in thirteen."""

    def bits(self, draw: str, numbers: Numbers) -> Numbers:
        """64 random bits for each event."""
        of_draw = np.frombuffer(hashlib.blake2b(f"{self._seed} {draw}".encode(), digest_size=8).digest(), np.uint64)
        return _mixed(_mixed(numbers.astype(np.uint64)) ^ _mixed(of_draw))

    def below(self, draw: str, numbers: Numbers, limit: int | Numbers) -> Numbers:
        """Return whole numbers from 0 to below the limit."""
        return (self.bits(draw, numbers) % np.asarray(limit, np.uint64)).astype(np.int64)

    def unit(self, draw: str, numbers: Numbers) -> Numbers:
        """Return numbers from 0 to below 1."""
        return (self.bits(draw, numbers) >> np.uint64(11)) * 2.0**-53

    def text(self, draw: str, numbers: Numbers, letters: Numbers, lengths: Numbers) -> pa.Array:
        """Return texts of these lengths, at most a kilobyte, cut out of the letters at random places."""
        import pyarrow as pa

        ends = np.cumsum(lengths)
        starts = self.below(draw, numbers, _LETTERS - _LONGEST) - (ends - lengths)
        cut = letters[np.repeat(starts, lengths) + np.arange(ends[-1] if len(ends) else 0)]
        offsets = np.concatenate(([0], ends)).astype(np.int32)
        return pa.StringArray.from_buffers(len(numbers), pa.py_buffer(offsets), pa.py_buffer(cut))


def _mixed(x: Numbers) -> Numbers:
    """Mix numbers by one step of splitmix64."""
    with np.errstate(over="ignore"):
        x = x + np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))
