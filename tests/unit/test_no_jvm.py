"""No unit test can start a JVM."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

REFUSED = "unit tests start no JVM, and this one starts"


@pytest.mark.parametrize("program", ["java", "/opt/jdk/bin/java", "/opt/spark/bin/spark-submit"])
def test_a_jvm_is_refused(program: str) -> None:
    with pytest.raises(pytest.fail.Exception, match=f"{REFUSED} {program}: "):
        subprocess.run([program, "-version"], check=False)


def test_what_goes_by_its_name_is_not(tmp_path: Path) -> None:
    script = tmp_path / "java"
    script.write_text("#!/bin/sh\necho none\n")
    script.chmod(0o755)
    assert subprocess.run([script, "-version"], check=True, capture_output=True, text=True).stdout == "none\n"


def test_code_cannot_take_it_for_an_error_of_its_own() -> None:
    assert not issubclass(pytest.fail.Exception, Exception)
