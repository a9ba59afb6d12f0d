"""Makes src/headrace/samples/charges: an hour of invented card charges, the same at every run."""

from __future__ import annotations

import json
import random
from datetime import datetime, timedelta
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "src" / "headrace" / "samples" / "charges"
START = datetime(2026, 3, 2, 9, 0, 0)
SHOPS = ("bakery", "books", "cinema", "fuel", "grocer", "pharmacy", "tram", "tools")
# Card, second of the small charge, seconds until the large one. The first four pairs are within a minute.
PAIRS = ((3, 420, 20), (11, 1500, 59), (17, 2210, 8), (29, 3105, 41), (8, 900, 61), (22, 2700, 180))


def charges() -> list[dict[str, object]]:
    random.seed(2026)
    rows: list[tuple[float, dict[str, object]]] = []

    def add(card: int, second: int, amount: float, shop: str) -> None:
        row = {"card": f"c{card:02}", "amount": f"{amount:.2f}", "shop": shop, "ts": str(START + timedelta(seconds=second))}
        # Rows arrive up to two minutes late, as in practice: the file has the order of arrival.
        rows.append((second + random.choice((0, 0, 0, 0, 5, 30, 115)), row))

    for _ in range(380):
        add(
            random.randrange(40), random.randrange(3600), random.choice((2, 5, 12, 40, 90)) * random.uniform(0.9, 1.6), random.choice(SHOPS)
        )
    for card, second, gap in PAIRS:
        add(card, second, random.uniform(0.2, 0.99), "tram")
        add(card, second + gap, random.uniform(510, 900), "tools")
    # A single small charge, and a single large one: neither is a sign of fraud.
    add(5, 1800, 0.8, "bakery")
    add(6, 1830, 640.0, "tools")
    return [row for _, row in sorted(rows, key=lambda item: item[0])]


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    rows = charges()
    quarter = -(-len(rows) // 4)
    for number in range(4):
        lines = [json.dumps(row) for row in rows[number * quarter : (number + 1) * quarter]]
        (FOLDER / f"{number + 1}.json").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
