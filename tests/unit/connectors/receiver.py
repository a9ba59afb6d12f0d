"""A server that takes what is posted to it: it keeps idempotency keys, and answers as it is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.unit.connectors.served import Handler, Served


@dataclass(frozen=True)
class Request:
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
    """`answer` says what becomes of a request; `requests` are all that came, `kept` the bodies that were taken, once for each key, which GET
    shows.
    """

    def __init__(
        self, answer: Callable[[Request, int], Answer] = lambda request, number: Answer(), certificate: Path | None = None
    ) -> None:
        self.requests: list[Request] = []
        self.kept: dict[str, str] = {}
        self.answer = answer
        receiver = self

        class Taking(Handler):
            def do_POST(self) -> None:
                request = Request(self.headers["Idempotency-Key"], dict(self.headers.items()), self.body())
                receiver.requests.append(request)
                answer = receiver.answer(request, len(receiver.requests))
                if answer.taken and (answer.status < 300 or answer.cut):
                    receiver.kept.setdefault(request.key, request.body)
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
