"""Secrets: stored by name, read when they are needed."""

from __future__ import annotations

from pathlib import Path

import pytest

import headrace as hr
from headrace.ports.secrets import Secret, secret_of
from tests.unit.errors import check_error

GIVEN = "söcret"


def test_of_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DB_PASSWORD", "söcret")
    assert hr.secret("DB_PASSWORD").read() == "söcret"
    assert hr.secret("DB_PASSWORD").to_json() == {"env": "DB_PASSWORD"}


def test_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "db"
    file.write_text("söcret\n", encoding="utf-8")
    found = hr.secret(file=file)
    assert found.read() == "söcret"
    assert secret_of("write.jdbc", "password", found.to_json()) == found == Secret(file=str(file))


def test_nothing_shows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DB_PASSWORD", "söcret")
    assert repr(hr.secret("DB_PASSWORD")) == str(hr.secret("DB_PASSWORD")) == "hr.secret('DB_PASSWORD')"


def test_missing_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DB_PASSWORD", raising=False)
    check_error(
        """
        SECRET_MISSING: the variable DB_PASSWORD is not set
          at test_secrets.py:*: lambda: hr.secret("DB_PASSWORD").read(),
          hint: set it where the job is started: DB_PASSWORD=... headrace run job.py
          page: docs/errors/SECRET_MISSING.md
        """,
        lambda: hr.secret("DB_PASSWORD").read(),
    )


def test_missing_file(tmp_path: Path) -> None:
    check_error(
        """
        SECRET_MISSING: the file <folder>/db cannot be read: No such file or directory
          at test_secrets.py:*: lambda: hr.secret(file=tmp_path / "db").read(),
          hint: it holds the secret alone, on one line
          page: docs/errors/SECRET_MISSING.md
        """,
        lambda: hr.secret(file=tmp_path / "db").read(),
        hide={str(tmp_path): "<folder>"},
    )


def test_neither_or_both() -> None:
    for given in ({}, {"env": "A", "file": "b"}, {"env": ""}):
        with pytest.raises(hr.ConnectorError, match="BAD_OPTION"):
            hr.secret(**given)


def test_a_password_in_clear_is_refused_and_not_shown() -> None:
    error = check_error(
        """
        BAD_OPTION: write.jdbc: password is not given by its name
          at test_secrets.py:*: lambda: secret_of("write.jdbc", "password", GIVEN),
          hint: a plan is stored and shown, and a secret stays where it is: password=hr.secret("DB_PASSWORD"), in YAML password: {env: DB_PASSWORD}
          page: docs/errors/BAD_OPTION.md
        """,
        lambda: secret_of("write.jdbc", "password", GIVEN),
    )
    assert error is not None and "söcret" not in error.message
