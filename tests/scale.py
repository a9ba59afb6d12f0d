"""How many cases the property tests try: a few each time, many under `make test-all`."""

import os

from hypothesis import HealthCheck, Phase, settings

FULL = os.environ.get("HEADRACE_TEST_SCALE") == "full"


def runs(few: int, many: int) -> settings:
    """For a property each of whose cases is a run on Spark. It costs seconds: none is spent on finding a smaller case, the seed is printed."""
    return settings(
        max_examples=many if FULL else few,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.explicit, Phase.reuse, Phase.generate],
        print_blob=True,
    )
