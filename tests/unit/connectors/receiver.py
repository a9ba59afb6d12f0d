"""A server that takes what is posted to it: it keeps idempotency keys, and answers as it is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.unit.connectors.served import Handler, Served


@dataclass(frozen=True)
class Asked:
    key: str
    headers: dict[str, str]
    body: str


@dataclass(frozen=True)
class Answer:
    """`cut`: the connection ends in the place of an answer, after the request was `taken`."""

    status: int = 200
    text: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    cut: bool = False
    taken: bool = True


class Receiver(Served):
    """`answer` says what becomes of a request; `asked` are all that came, `kept` the bodies that were taken, once for each key, which GET
    shows.
    """

    def __init__(self, answer: Callable[[Asked, int], Answer] = lambda asked, number: Answer(), certificate: Path | None = None) -> None:
        self.asked: list[Asked] = []
        self.kept: dict[str, str] = {}
        self.answer = answer
        receiver = self

        class Taking(Handler):
            def do_POST(self) -> None:
                asked = Asked(self.headers["Idempotency-Key"], dict(self.headers.items()), self.body())
                receiver.asked.append(asked)
                answer = receiver.answer(asked, len(receiver.asked))
                if answer.taken and (answer.status < 300 or answer.cut):
                    receiver.kept.setdefault(asked.key, asked.body)
                if answer.cut:
                    self.cut()
                else:
                    self.answer(answer.status, answer.text, answer.headers)

            def do_GET(self) -> None:
                self.answer(200, "".join(receiver.kept.values()))

        super().__init__(Taking, certificate)

    @property
    def url(self) -> str:
        return f"{self.root}/charges"

    def rows(self) -> list[str]:
        """The lines of all that was taken."""
        return sorted(line for body in self.kept.values() for line in body.splitlines())
