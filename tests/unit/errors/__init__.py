'''How error texts are tested: the text of an error is API, so it is compared whole.

Every code of `headrace.codes.CODES` has

* a page `docs/errors/<CODE>.md`, and
* at least one call of `check_error` somewhere under `tests/` (not only in this folder) whose first argument is a
  **string constant that begins with the code**; `test_table.py` finds it by reading the test files, so it also counts
  when a test needs Spark and was not selected in this run. Pages and tests for codes that do not exist fail too.

```python
from tests.unit.errors import check_error

def test_unknown_column() -> None:
    charges = hr.read.memory([], "card string, amount int", name="charges")
    check_error(
        """
        UNKNOWN_COLUMN: no column `amout` in charges
          at test_verbs.py:*: charges.filter("amout > 3"),
          hint: did you mean `amount`? It has: card, amount
          more: headrace error UNKNOWN_COLUMN
        """,
        lambda: charges.filter("amout > 3"),
    )
```

The second argument is what raises, or the exception itself, or a text that was printed. What differs from run to run is
written as a sign: the line number of a place is always `*`, a path is only its last part (both are done for you), and `hide`
replaces anything else (`hide={str(tmp_path): "<folder>"}`). Leave nothing else out.
'''

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Mapping

from headrace.errors import HeadraceError

_PLACE = re.compile(r"(?m)^(\s*at )(?:[^\s:][^:\n]*/)?([^/:\n]+):\d+: ")


def check_error(
    expected: str, raised: Callable[[], object] | BaseException | str, *, hide: Mapping[str, str] | None = None
) -> HeadraceError | None:
    """Compare the whole text of an error with `expected`; gives the error, where there is one, for further looks."""
    error: HeadraceError | None = None
    if isinstance(raised, str):
        text = raised
    elif isinstance(raised, BaseException):
        error = raised if isinstance(raised, HeadraceError) else None
        text = str(raised)
    else:
        try:
            raised()
        except HeadraceError as caught:
            error = caught
            text = str(caught)
        else:
            raise AssertionError(f"nothing was raised; expected:\n{expected}")
    for secret, sign in (hide or {}).items():
        text = text.replace(secret, sign)
    text = _PLACE.sub(r"\1\2:*: ", text)
    assert text.strip() == textwrap.dedent(expected).strip(), text
    return error
