"""The events of Nexmark: of fifty, one is a person, three are auctions, and the others are bids.

Proportions, hot auctions, sellers and bidders, prices, channels, lengths of auctions and padding are those of the published generator
(github.com/nexmark/nexmark, with its default settings). Its random numbers are not: here an event is a function of the seed and its own
number, so runs are equal and any part can be made alone. Hot channels have one address each, which no query reads. A bidder's number is
that of a person; in the published generator it is off by 1000.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.nexmark.chance import Chance, Numbers

if TYPE_CHECKING:
    import pyarrow as pa

PERSON, AUCTION, BID = 0, 1, 2
OF, PEOPLE, AUCTIONS = 50, 1, 3
"""Of each `OF` events, the first are persons and the next are auctions."""
FIRST = 1000
"""The number of the first person and of the first auction."""
FIRST_CATEGORY, CATEGORIES = 10, 5
IN_FLIGHT, ACTIVE, LEAD = 100, 1000, 10
"""The auctions open for bids at a time, the people who sell or bid, and how many future ones may already be named."""
HOT = 100
"""One of this many auctions, sellers and bidders is hot."""
BASE = 1_436_918_400_000
"""The time of the first event, 2015-07-15 00:00, in milliseconds."""
SIZES = {PERSON: 200, AUCTION: 500, BID: 100}
"""The average bytes of an event, including its padding."""

STATES = ["AZ", "CA", "ID", "OR", "WA", "WY"]
CITIES = ["Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland", "Bend", "Redmond", "Seattle", "Kent", "Cheyenne"]
FIRST_NAMES = ["Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter", "Walter"]
LAST_NAMES = ["Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris"]
HOT_CHANNELS = ("Google", "Facebook", "Baidu", "Apple")
CHANNELS = 10_000


class Generator:
    """`person`, `auction` and `bid` return the columns of the events with these numbers, which must be of that kind."""

    def __init__(self, seed: int = 1, rate: int = 10_000) -> None:
        self._chance = Chance(seed)
        self._rate = rate
        self._channels, self._urls = self._sites()

    def time(self, numbers: Numbers) -> Numbers:
        """Return the times in milliseconds, of `rate` events per second."""
        return BASE + numbers * 1000 // self._rate

    def person(self, numbers: Numbers) -> dict[str, Any]:
        card = (_padded(self._chance.below(f"card {part}", numbers, 10_000), 4) for part in range(4))
        columns = {
            "id": FIRST + last_person(numbers),
            "name": _joined(self._of("first name", numbers, FIRST_NAMES), self._of("last name", numbers, LAST_NAMES), between=" "),
            "emailAddress": _joined(self._words("user", numbers, 7), "@", self._words("host", numbers, 5), ".com"),
            "creditCard": _joined(*card, between=" "),
            "city": self._of("city", numbers, CITIES),
            "state": self._of("state", numbers, STATES),
            "dateTime": _moment(self.time(numbers)),
        }
        return columns | {"extra": self._padding(PERSON, numbers, 8, columns)}

    def auction(self, numbers: Numbers) -> dict[str, Any]:
        chance, time = self._chance, self.time(numbers)
        price = self._price("initial bid", numbers)
        horizon = self.time(numbers + IN_FLIGHT * OF // AUCTIONS) - time
        hot = chance.below("hot seller", numbers, 4) > 0
        columns = {
            "id": FIRST + last_auction(numbers),
            "itemName": self._words("item", numbers, 20),
            "description": self._words("description", numbers, 100),
            "initialBid": price,
            "reserve": price + self._price("reserve", numbers),
            "dateTime": _moment(time),
            "expires": _moment(time + 1 + chance.below("length", numbers, np.maximum(horizon * 2, 1))),
            "seller": FIRST + np.where(hot, last_person(numbers) // HOT * HOT, self._active("seller", numbers)),
            "category": FIRST_CATEGORY + chance.below("category", numbers, CATEGORIES),
        }
        return columns | {"extra": self._padding(AUCTION, numbers, 48, columns)}

    def bid(self, numbers: Numbers) -> dict[str, Any]:
        chance = self._chance
        newest = last_auction(numbers)
        oldest = np.maximum(newest - IN_FLIGHT, 0)
        any_auction = oldest + chance.below("auction", numbers, newest - oldest + 1 + LEAD)
        hot_auction, hot_bidder = (chance.below(f"hot {what}", numbers, of) > 0 for what, of in (("auction", 2), ("bidder", 4)))
        site = np.where(
            chance.below("hot channel", numbers, 2) > 0,
            CHANNELS + chance.below("which hot channel", numbers, len(HOT_CHANNELS)),
            chance.below("channel", numbers, CHANNELS),
        )
        return {
            "auction": FIRST + np.where(hot_auction, newest // HOT * HOT, any_auction),
            # the second of each hundred, so that hot bidders are not hot sellers
            "bidder": FIRST + np.where(hot_bidder, last_person(numbers) // HOT * HOT + 1, self._active("bidder", numbers)),
            "price": self._price("price", numbers),
            "channel": self._channels.take(site),
            "url": self._urls.take(site),
            "dateTime": _moment(self.time(numbers)),
            "extra": self._padding(BID, numbers, 32, {}),
        }

    def _active(self, draw: str, numbers: Numbers) -> Numbers:
        people = last_person(numbers) + 1
        active = np.minimum(people, ACTIVE)
        return people - active + self._chance.below(draw, numbers, active + LEAD)

    def _price(self, draw: str, numbers: Numbers) -> Numbers:
        return np.rint(10.0 ** (self._chance.unit(draw, numbers) * 6) * 100).astype(np.int64)

    def _of(self, draw: str, numbers: Numbers, words: Sequence[str]) -> pa.Array:
        import pyarrow as pa

        return pa.array(words).take(self._chance.below(draw, numbers, len(words)))

    def _words(self, draw: str, numbers: Numbers, limit: int) -> pa.Array:
        """Return texts of at least three letters and fewer than the limit; spaces at their ends are removed."""
        from pyarrow import compute

        lengths = 3 + self._chance.below(f"{draw} length", numbers, limit - 3)
        return compute.ascii_trim(self._chance.text(draw, numbers, self._chance.spaced, lengths), " ")

    def _padding(self, kind: int, numbers: Numbers, size: int, columns: dict[str, Any]) -> pa.Array:
        """Return the text that an event lacks to the size of its kind, give or take a fifth; `size` is the bytes of its
        numbers and times.
        """
        from pyarrow import compute, types

        texts = [column for column in columns.values() if not isinstance(column, np.ndarray) and types.is_string(column.type)]
        lacking = SIZES[kind] - size - sum((compute.binary_length(text).to_numpy() for text in texts), np.zeros(len(numbers), np.int64))
        fifth = np.rint(lacking * 0.2).astype(np.int64)
        lengths = np.where(lacking > 0, lacking - fifth + self._chance.below("padding length", numbers, np.maximum(2 * fifth, 1)), 0)
        return self._chance.text("padding", numbers, self._chance.plain, lengths)

    def _sites(self) -> tuple[pa.Array, pa.Array]:
        """Return the channels and their addresses, the hot ones last. Nine of ten addresses of the others include the channel."""
        import pyarrow as pa

        numbers = np.arange(CHANNELS + len(HOT_CHANNELS))
        lengths = [3 + self._chance.below(f"url {part} length", numbers, 2) for part in range(3)]
        parts = [self._chance.text(f"url {part}", numbers, self._chance.spaced, lengths[part]).to_pylist() for part in range(3)]
        named = self._chance.below("channel in url", numbers, 10) > 0
        urls = []
        for number in numbers:
            path = "/".join(part[number].replace(" ", "_") for part in parts)
            channel = f"&channel_id={_reversed(int(number))}" if number < CHANNELS and named[number] else ""
            urls.append(f"https://www.nexmark.com/{path}/item.htm?query=1{channel}")
        return pa.array([*(f"channel-{number}" for number in range(CHANNELS)), *HOT_CHANNELS]), pa.array(urls)


def kinds(numbers: Numbers) -> Numbers:
    """Return the kind of each event: PERSON, AUCTION or BID."""
    place = numbers % OF
    return np.where(place < PEOPLE, PERSON, np.where(place < PEOPLE + AUCTIONS, AUCTION, BID))


def last_person(numbers: Numbers) -> Numbers:
    """Return the newest person at the time of an event, counted from 0: the event itself, if it is one."""
    return numbers // OF * PEOPLE + np.minimum(numbers % OF, PEOPLE - 1)


def last_auction(numbers: Numbers) -> Numbers:
    """Return the newest auction at the time of an event; -1 (none) at the first person."""
    return numbers // OF * AUCTIONS + np.minimum(numbers % OF - PEOPLE, AUCTIONS - 1)


def _joined(*texts: Any, between: str = "") -> pa.Array:
    from pyarrow import compute

    return compute.binary_join_element_wise(*texts, between)


def _moment(milliseconds: Numbers) -> pa.Array:
    import pyarrow as pa

    return pa.array(milliseconds, pa.timestamp("ms"))


def _padded(numbers: Numbers, digits: int) -> pa.Array:
    import pyarrow as pa
    from pyarrow import compute

    return compute.ascii_lpad(pa.array(numbers).cast(pa.string()), digits, "0")


def _reversed(number: int) -> int:
    """Return the number with the 32 bits of this one reversed, without its sign."""
    turned = int(f"{number:032b}"[::-1], 2)
    return 2**32 - turned if turned >= 2**31 else turned
