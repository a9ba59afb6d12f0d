"""Secrets: stored by name, read when they are needed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import headrace as hr
from headrace.connectors.delta import Sink as Delta
from headrace.ports.secrets import Secret, secret_of
from tests.unit.errors import check_error

PLAIN = "söcret"


def test_of_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DB_PASSWORD", "söcret")
    assert hr.secret("DB_PASSWORD").read() == "söcret"
    assert hr.secret("DB_PASSWORD").to_json() == {"env": "DB_PASSWORD"}


def test_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "db"
    file.write_text("söcret\n", encoding="utf-8")
    secret = hr.secret(file=file)
    assert secret.read() == "söcret"
    assert secret_of("write.jdbc", "password", secret.to_json()) == secret == Secret(file=str(file))


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
          more: headrace error SECRET_MISSING
        """,
        lambda: hr.secret("DB_PASSWORD").read(),
    )


def test_missing_file(tmp_path: Path) -> None:
    check_error(
        """
        SECRET_MISSING: the file <folder>/db cannot be read: No such file or directory
          at test_secrets.py:*: lambda: hr.secret(file=tmp_path / "db").read(),
          hint: the file must contain only the secret, on one line
          more: headrace error SECRET_MISSING
        """,
        lambda: hr.secret(file=tmp_path / "db").read(),
        hide={str(tmp_path): "<folder>"},
    )


def test_neither_or_both() -> None:
    for arguments in ({}, {"env": "A", "file": "b"}, {"env": ""}):
        with pytest.raises(hr.ConnectorError, match="BAD_OPTION"):
            hr.secret(**arguments)


def test_a_password_in_clear_is_refused_and_not_shown() -> None:
    error = check_error(
        """
        BAD_OPTION: write.jdbc: password must be a secret, given by its name
          at test_secrets.py:*: lambda: secret_of("write.jdbc", "password", PLAIN),
          hint: plans are stored and shown, so pass a secret by its name: password=hr.secret("DB_PASSWORD"), in YAML password: {env: DB_PASSWORD}
          more: headrace error BAD_OPTION
        """,
        lambda: secret_of("write.jdbc", "password", PLAIN),
    )
    assert error is not None and "söcret" not in error.message


@pytest.mark.parametrize("value", ["tok\n", "\ttok", "tok\r\nX-Evil: 1", "t\x7fok"])
def test_a_line_break_is_refused_when_the_secret_is_named_and_when_it_is_read(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    named = hr.secret("DB_PASSWORD")
    monkeypatch.setenv("DB_PASSWORD", value)
    for refused in (lambda: secret_of("write.jdbc", "password", {"env": "DB_PASSWORD"}), named.read):
        with pytest.raises(hr.ConnectorError) as raised:
            refused()
        assert raised.value.code == "SECRET_UNFIT"
        assert "DB_PASSWORD" in raised.value.message and "tok" not in str(raised.value)


def test_unfit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_KEY", "schlüssel")
    headers = {"X-Api-Key": hr.secret("API_KEY")}
    check_error(
        """
        SECRET_UNFIT: the variable API_KEY contains a line break or a non-ASCII character, which cannot be sent
          at test_secrets.py:*: lambda: hr.lookup.http("https://example.org/{id}", "id int, name string", headers=headers),
          hint: `echo` adds a line break at the end; `printf '%s'` does not
          more: headrace error SECRET_UNFIT
        """,
        lambda: hr.lookup.http("https://example.org/{id}", "id int, name string", headers=headers),
    )


def test_a_variable_that_is_not_set_yet_is_looked_at_when_the_job_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DB_PASSWORD", raising=False)
    named = secret_of("write.jdbc", "password", hr.secret("DB_PASSWORD"))
    monkeypatch.setenv("DB_PASSWORD", "geheim\n")
    with pytest.raises(hr.ConnectorError, match="SECRET_UNFIT"):
        named.read()


def test_the_key_of_a_service_account_has_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_KEY", '{\n"private_key": "-----BEGIN"\n}')
    options = {"google_service_account_key": hr.secret("GOOGLE_KEY")}
    assert Delta("s3://bucket/table", storage_options=options).place.options() == {"google_service_account_key": os.environ["GOOGLE_KEY"]}
    with pytest.raises(hr.ConnectorError, match="SECRET_UNFIT"):
        Delta("s3://bucket/table", storage_options={"aws_secret_access_key": hr.secret("GOOGLE_KEY")})


def test_a_header_in_clear_is_one_line() -> None:
    for name, value in (("X-Job", "a\r\nX-Evil: 1"), ("X-Job", "é"), ("X Job", "a"), ("X-Job\n", "a"), ("", "a")):
        with pytest.raises(hr.ConnectorError, match="BAD_OPTION"):
            hr.lookup.http("https://example.org/{id}", "id int, name string", headers={name: value})
