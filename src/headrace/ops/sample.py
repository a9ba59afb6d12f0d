"""A part of the rows, chosen by their hash."""

from __future__ import annotations

from typing import Any, Self

from headrace.errors import PlanError, here
from headrace.ops.filter import Filter
from headrace.ops.handle import Handle, verb
from headrace.plan import Node
from headrace.syntax import quote

_BITS = 53
"""The bits of a hash that are compared: a float has as many, so each fraction is an exact number of hashes."""


def sample(input: Node, fraction: Any, seed: Any) -> Filter:
    """Return the rows whose hash is in the lowest `fraction` of all hashes."""
    if isinstance(fraction, bool) or not isinstance(fraction, int | float) or not 0 <= fraction <= 1:
        hint = "a number from 0 to 1: .sample(0.1) keeps about one row in ten"
        raise PlanError("BAD_INPUT", f"sample: `fraction` cannot be {fraction!r}", hint=hint, site=here())
    if isinstance(seed, bool) or not isinstance(seed, int) or not -(2**63) < seed < 2**63:
        hint = "a whole number of 64 bits: .sample(0.1, seed=7)"
        raise PlanError("BAD_INPUT", f"sample: `seed` cannot be {seed!r}", hint=hint, site=here())
    hashed = ", ".join([f"{seed}L", *(quote(name) for name in input.columns)])
    text = f"shiftrightunsigned(xxhash64({hashed}), {64 - _BITS}) < {int(fraction * 2**_BITS)}L"
    return Filter(input, (text,), "sample", site=here())


class SampleVerb(Handle):
    __slots__ = ()

    @verb("sample")
    def sample(self, fraction: float, seed: int = 0) -> Self:
        """Keeps about a fraction of the rows, chosen by a hash of all columns and the seed.

        Equal rows are kept or left out together, and so are their retractions. A seed gives the same rows in every run. A larger fraction
        adds rows to those of a smaller one. Maps have no hash (`WRONG_TYPE`): `drop` such columns first.

        Args:
            fraction: The fraction of the rows to keep, from 0 to 1.
            seed: A whole number of 64 bits. Another seed chooses other rows.

        Raises:
            PlanError: `BAD_INPUT` if `fraction` or `seed` is out of range.

        Examples:
            >>> import headrace as hr
            >>> numbers = hr.read.memory([(n,) for n in range(10)], "n int", name="numbers")
            >>> sorted(hr.collect(numbers.sample(0.3)).rows())
            [(1,), (3,), (9,)]
        """
        return self._then(sample(self._node, fraction, seed), self._alias)
