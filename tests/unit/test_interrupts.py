"""SIGINT and SIGTERM outside of a run end a process at once: with exit code 130, without a traceback; each case is a process of its own."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

SIGNALS = [signal.SIGINT, signal.SIGTERM]
HEAD = """
import os, signal, sys, time
from headrace.interrupts import Interrupted, held, interruptible, interrupted
number = signal.Signals(int(sys.argv[1]))
def strike():
    os.kill(os.getpid(), number)
    time.sleep(0.01)
"""


def run(script: str, number: signal.Signals, *options: str) -> tuple[int, str, str]:
    text = HEAD + textwrap.dedent(script)
    # as in a terminal: a shell ignores SIGINT for what it runs in its background
    command = [sys.executable, *options, "-c", text, str(int(number))]
    done = subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=_undisturbed, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


def _undisturbed() -> None:
    for number in SIGNALS:
        signal.signal(number, signal.SIG_DFL)


@pytest.mark.parametrize("number", SIGNALS)
def test_an_interruption_ends_a_program_quietly(number: signal.Signals) -> None:
    script = """
        with interruptible():
            strike()
        print("went on")
        """
    assert run(script, number) == (130, "", "")


@pytest.mark.parametrize("number", SIGNALS)
def test_it_is_caught_as_that_of_ctrl_c(number: signal.Signals) -> None:
    script = """
        try:
            with interruptible():
                strike()
        except KeyboardInterrupt:
            print("stopped", interrupted(), signal.getsignal(signal.SIGINT) is signal.default_int_handler, signal.getsignal(signal.SIGTERM))
        """
    assert run(script, number) == (0, f"stopped True True {signal.SIG_DFL}\n", "")


def test_a_prompt_of_python_gets_the_exception_that_it_knows() -> None:
    script = """
        try:
            with interruptible():
                strike()
        except KeyboardInterrupt as stop:
            print(type(stop).__name__)
        """
    assert run(script, signal.SIGTERM, "-i")[1] == "KeyboardInterrupt\n"


def test_a_handler_of_the_program_stays_and_so_does_what_is_ignored() -> None:
    script = """
        signal.signal(signal.SIGTERM, lambda *_: print("theirs"))
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        with interruptible():
            strike()
            os.kill(os.getpid(), signal.SIGINT)
        """
    assert run(script, signal.SIGTERM) == (0, "theirs\n", "")


def test_one_that_is_held_comes_at_the_end_of_the_block() -> None:
    script = """
        with interruptible():
            with held():
                with held():
                    strike()
                print("whole")
            print("went on")
        """
    assert run(script, signal.SIGTERM) == (130, "whole\n", "")


@pytest.mark.parametrize("number", SIGNALS)
def test_an_import_that_is_interrupted(number: signal.Signals, tmp_path: Path) -> None:
    # Python makes a RuntimeError of what is raised there
    script = """
        class Striking:
            def __set_name__(self, owner, name):
                strike()
        with interruptible(), held():
            class Owner:
                struck = Striking()
        """
    assert run(script, number) == (130, "", "")


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("where", ["strike()", "class Owner: struck = Striking()"])
def test_the_command_ends_quietly_while_it_loads_a_file(number: signal.Signals, where: str, tmp_path: Path) -> None:
    job = tmp_path / "job.py"
    striking = "class Striking:\n    def __set_name__(self, owner, name):\n        strike()\n"
    job.write_text(HEAD.replace("sys.argv[1]", str(int(number))) + striking + where + "\n", encoding="utf-8")
    script = f"""
        sys.argv = ["headrace", "explain", {str(job)!r}]
        from headrace.__main__ import main
        sys.exit(main())
        """
    assert run(script, number) == (130, "", "")
