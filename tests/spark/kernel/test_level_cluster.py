"""A query whose tasks run in other processes: all that a task needs must travel."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys
from pathlib import Path
import headrace.jvm.session
from tests.spark.kernel import test_level, test_level_route
spark = headrace.jvm.session.session(master="local-cluster[2,1,700]", conf={"spark.executor.memory": "700m", "spark.driver.memory": "1g"})
for n, test in enumerate([
    test_level.test_rows_of_a_key_come_in_time_order_whatever_the_epochs,
    test_level.test_two_levels_and_what_passes_through_the_second,
    test_level_route.test_routes_behind_an_operator_and_their_dead_letters,
]):
    folder = Path(sys.argv[1]) / str(n)
    folder.mkdir()
    test(spark, folder)
    print(test.__name__, "passed")
spark.stop()
"""


@pytest.mark.full
def test_executors_in_other_processes(tmp_path: Path) -> None:
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)], cwd=root, capture_output=True, text=True, timeout=1800, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("passed") == 3
