"""What all tests share: a cache and surroundings of their own where they change them, and no settings of the user."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests import installed  # noqa: F401  # connectors of this tree are found, whatever was installed before they were made


@pytest.fixture(scope="session", autouse=True)
def _no_settings_of_the_user() -> Iterator[None]:
    """Tests see the defaults, whatever HEADRACE_* the shell has; the cache stays, or each run would build the kernel again."""
    taken = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith("HEADRACE_") and name != "HEADRACE_CACHE"}
    yield
    os.environ.update(taken)
