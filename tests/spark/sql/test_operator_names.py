"""State is found again by the name of its operator, which is made of what the operator says: no change of ours may change it."""

from __future__ import annotations

import pytest

from tests.spark.sql.operator_names import FILE, names, text
from tests.spark.versions import IS_OLDER

ENOUGH = 200


@pytest.mark.usefixtures("spark")
@pytest.mark.filterwarnings("ignore:hr.sql. several columns are named")
def test_the_names_of_query_operators_stay() -> None:
    by_query = names()
    if IS_OLDER:
        # Spark orders the columns of its subquery in another way
        by_query["first_row_of_a_subquery"] = ["partition-1b6dc429", "join-05339f9f"]
    operators = [name for query in by_query.values() for name in query]
    assert len(operators) >= ENOUGH
    assert text(by_query) == FILE.read_text(encoding="utf-8")
