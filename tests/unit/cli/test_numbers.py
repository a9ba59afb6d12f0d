"""Numbers on the command line: what is none, or no sensible one, is refused before anything begins."""

from __future__ import annotations

import pytest

from headrace import cli

WHOLE = [
    "state show sums --epoch",
    "state show sums --limit",
    "state query sums SELECT --limit",
    "letters show sums --limit",
    *(f"certify job.py --{name}" for name in ("kills", "executors", "restore", "seed", "rows", "epochs", "parallel")),
]
LEAST = {"restore": 1, "rows": 1, "epochs": 1, "parallel": 1}


@pytest.mark.parametrize("number", ["-1", "nan", "inf", "1.5", "1e3", "²", "", "999999999999", "9" * 5000])
@pytest.mark.parametrize("command", WHOLE)
def test_what_is_no_whole_number_is_not_understood(command: str, number: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.parser().parse_args([*command.split(), number])
    message = capsys.readouterr().err.splitlines()[-1]
    least = LEAST.get(command.rpartition("--")[2], 0)
    assert ended.value.code == 2
    assert any(f"{number} is not a whole number {bound} {least}" in message for bound in ("of at least", "from"))


@pytest.mark.parametrize("command", WHOLE)
def test_nothing_is_refused_where_it_is_asked_for(command: str) -> None:
    name = command.rpartition("--")[2]
    if name in LEAST:
        with pytest.raises(SystemExit):
            cli.parser().parse_args([*command.split(), "0"])
    else:
        assert getattr(cli.parser().parse_args([*command.split(), "0"]), name) == 0
