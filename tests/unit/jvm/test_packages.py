"""What connectors need: fetched once, checked, refused with the command that helps."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

import headrace as hr
from headrace import cli, ports
from headrace.jvm import compile, fetch
from headrace.jvm.packages import provide
from headrace.packages import Jar, Packages
from tests.unit.errors import check_error

BYTES = b"not really a jar"
JAR = Jar("org.example:one:1.0", hashlib.sha256(BYTES).hexdigest())
NEEDED = Packages((JAR,), name="example")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one jar, and an empty cache."""
    folder = tmp_path / "repository"
    (folder / JAR.path).parent.mkdir(parents=True)
    (folder / JAR.path).write_bytes(BYTES)
    monkeypatch.setenv("HEADRACE_MAVEN", str(folder))
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(fetch, "_chosen", None)
    return folder


def test_fetched_once_and_kept(repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (jar,) = provide(NEEDED)
    assert jar == tmp_path / "cache" / "jars" / "org" / "example" / "one" / "1.0" / "one-1.0.jar"
    assert jar.read_bytes() == BYTES
    lines = capsys.readouterr().err.splitlines()
    assert lines[:2] == [f"headrace: fetching 1 jar from {repository.as_uri()} (once)", "headrace: one-1.0.jar"]
    (repository / JAR.path).unlink()
    assert provide(NEEDED, fetching=False) == [jar]
    assert capsys.readouterr().err == ""


def test_a_jar_in_the_cache_that_was_cut_off_is_fetched_again(repository: Path) -> None:
    (jar,) = provide(NEEDED)
    jar.write_bytes(BYTES[:3])
    assert provide(NEEDED) == [jar]
    assert jar.read_bytes() == BYTES


def test_another_jar_of_that_name(repository: Path) -> None:
    (repository / JAR.path).write_bytes(b"<html>please log in</html>")
    check_error(
        f"""
        PACKAGE_DIFFERS: <repository>/org/example/one/1.0/one-1.0.jar is not the expected jar: its SHA-256 is cc6dc9af5b78dca34c8c2b1e2b0d6bafe1d3a63b5ed62edc2f4bfc21bd5bda4f, and that of org.example:one:1.0 is {JAR.sha256}
          hint: the repository, or a proxy in front of it, serves another file; set HEADRACE_MAVEN to another repository
          more: headrace error PACKAGE_DIFFERS
        """,
        lambda: provide(NEEDED),
        hide={
            repository.as_uri(): "<repository>",
            hashlib.sha256(b"<html>please log in</html>").hexdigest(): "cc6dc9af5b78dca34c8c2b1e2b0d6bafe1d3a63b5ed62edc2f4bfc21bd5bda4f",
        },
    )
    assert not fetch.place(JAR).exists()


def test_a_jar_that_the_repository_does_not_have(repository: Path, tmp_path: Path) -> None:
    (repository / JAR.path).unlink()
    check_error(
        """
        PACKAGE_MISSING: org.example:one:1.0 could not be fetched from file://<folder>/repository/org/example/one/1.0/one-1.0.jar: [Errno 2] No such file or directory: '<folder>/repository/org/example/one/1.0/one-1.0.jar'
          hint: set HEADRACE_MAVEN to another repository, or to a folder with the same layout; on a machine without network, copy
                the cache of another machine: <folder>/cache/jars
          more: headrace error PACKAGE_MISSING
        """,
        lambda: provide(NEEDED),
        hide={str(tmp_path): "<folder>"},
    )


def test_an_unreachable_repository_is_reported_without_its_password(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Nothing listens on port 1.
    monkeypatch.setenv("HEADRACE_MAVEN", "http://me:geheim@127.0.0.1:1/maven2/")
    check_error(
        """
        PACKAGE_MISSING: org.example:one:1.0 could not be fetched from http://127.0.0.1:1/maven2/org/example/one/1.0/one-1.0.jar: [Errno 111] Connection refused
          hint: set HEADRACE_MAVEN to another repository, or to a folder with the same layout; on a machine without network, copy
                the cache of another machine: <folder>/cache/jars
          more: headrace error PACKAGE_MISSING
        """,
        lambda: provide(NEEDED),
        hide={str(tmp_path): "<folder>"},
    )
    assert fetch._request("http://me:geheim@127.0.0.1/x").get_header("Authorization") == "Basic bWU6Z2VoZWlt"


def test_a_session_that_may_not_fetch(repository: Path) -> None:
    check_error(
        """
        PACKAGE_MISSING: example needs org.example:one:1.0, but this session may not fetch packages
          hint: `headrace packages add example` fetches them once; hr.session(packages="auto") lets jobs do it
          more: headrace error PACKAGE_MISSING
        """,
        lambda: provide(NEEDED, fetching=False),
    )


def test_many_jars_that_a_session_may_not_fetch(repository: Path) -> None:
    jars = tuple(Jar(f"org.example:{letter}:1", "") for letter in "abcdef")
    check_error(
        """
        PACKAGE_MISSING: many needs org.example:a:1, org.example:b:1, org.example:c:1, org.example:d:1 and 2 more, but this session may not fetch packages
          hint: `headrace packages add many` fetches them once; hr.session(packages="auto") lets jobs do it
          more: headrace error PACKAGE_MISSING
        """,
        lambda: provide(Packages(jars, name="many"), fetching=False),
    )


def test_a_python_package_that_is_missing(repository: Path) -> None:
    check_error(
        """
        PACKAGE_MISSING: example needs the Python package no_such_package, which is not installed
          hint: pip install "headrace[example]"
          more: headrace error PACKAGE_MISSING
        """,
        lambda: provide(Packages(modules=("no_such_package.inner",), extra="example", name="example")),
    )


def test_who_says_whether_jobs_fetch(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert fetch.allowed()
    monkeypatch.setenv("HEADRACE_PACKAGES", "never")
    assert not fetch.allowed()
    fetch.choose("auto")
    assert fetch.allowed()
    check_error(
        """
        BAD_SETTING: hr.session(packages=...) cannot be 'always'
          hint: write one of: auto, never
          more: headrace error BAD_SETTING
        """,
        lambda: hr.session(packages="always"),
    )


def test_the_key_of_scala_depends_on_what_it_is_compiled_against() -> None:
    alone = compile.Unit("4.3.0", (("a.scala", b"x"),), "kafka")
    beside = compile.Unit("4.3.0", (("a.scala", b"x"),), "kafka", (("k1", Path("kernel.jar")),))
    other = compile.Unit("4.3.0", (("a.scala", b"x"),), "kafka", (("k2", Path("kernel.jar")),))
    assert len({alone.key, beside.key, other.key}) == 3
    assert compile.Unit("4.3.0", (("a.scala", b"x"),), "kafka", (("k1", Path("elsewhere.jar")),)).key == beside.key


def test_the_command(repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(ports, "packages", lambda: {"example": Packages((JAR,), modules=("json", "no_such"), extra="ex", name="example")})
    place = fetch.place(JAR)
    assert cli.main(["packages"]) == 0
    missing = 'MISSING  example: 2 of 3 parts; cure: pip install "headrace[ex]"; headrace packages add example\n'
    assert capsys.readouterr().out == missing
    assert cli.main(["packages", "list"]) == 0
    assert capsys.readouterr().out == missing
    assert cli.main(["packages", "--verbose"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "there    example: Python module json",
        "MISSING  example: Python module no_such",
        '         cure: pip install "headrace[ex]"',
        f"MISSING  example: org.example:one:1.0 in {place}",
        "         cure: headrace packages add example",
    ]
    monkeypatch.setattr(ports, "packages", lambda: {"example": NEEDED})
    assert cli.main(["packages", "add", "example"]) == 0
    assert capsys.readouterr().out == f"{place}\n"
    assert cli.main(["packages", "list"]) == 0
    assert capsys.readouterr().out == "there    example\n"
    assert cli.main(["packages", "list", "--verbose"]) == 0
    assert capsys.readouterr().out == f"there    example: org.example:one:1.0 in {place}\n"
    assert cli.main(["packages", "add", "exampel"]) == 1
    check_error(
        """
        UNKNOWN_CONNECTOR: no connector has packages named `exampel`
          hint: did you mean `example`? There are: example
          more: headrace error UNKNOWN_CONNECTOR
        """,
        capsys.readouterr().err.rstrip("\n"),
    )
