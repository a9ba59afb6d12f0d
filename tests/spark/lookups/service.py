"""A service that a test fills, breaks and watches."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.unit.connectors.served import Handler, Served

Row = dict[str, Any]


@dataclass(frozen=True)
class Request:
    """A request: its path as it came, and the keys that it asks for."""

    path: str
    keys: list[Any]
    headers: dict[str, str] = field(repr=False)


@dataclass(frozen=True)
class Reply:
    """`cut`: the connection ends in its place; `held`: it comes when that is set, where it has `begun` all that is behind its headers."""

    status: int = 200
    text: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    cut: bool = False
    held: threading.Event | None = None
    begun: bool = False


class Service(Served):
    """`rows` by the last part of the path or by the posted `id`; `reply` may answer in their place. `requests` are all that came."""

    def __init__(self, certificate: Path | None = None) -> None:
        self.rows: dict[str, Any] = {}
        self.reply: Callable[[Request], Reply | None] = lambda request: None
        self.requests: list[Request] = []
        self.most_at_once = 0
        self._at_once = 0
        self._together = threading.Barrier(1)
        self._lock = threading.Lock()
        service = self

        class Answering(Handler):
            def do_GET(self) -> None:
                parts = urlsplit(self.path)
                keys = [unquote(parts.path.rsplit("/", 1)[-1]), *(one for values in parse_qs(parts.query).values() for one in values)]
                service._answer(self, Request(self.path, keys, dict(self.headers.items())))

            def do_POST(self) -> None:
                service._answer(self, Request(self.path, json.loads(self.body()), dict(self.headers.items())))

        super().__init__(Answering, certificate)

    def meet(self, n: int) -> None:
        """Answers wait until so many requests are there."""
        self._together = threading.Barrier(n)

    def _answer(self, handler: Handler, request: Request) -> None:
        with self._lock:
            self.requests.append(request)
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            self._together.wait(20)
            reply = self.reply(request) or self._rows(handler.command, request)
            if reply.held is not None and not reply.begun:
                reply.held.wait(20)
        finally:
            with self._lock:
                self._at_once -= 1
        if reply.cut:
            handler.cut()
        else:
            handler.answer(reply.status, reply.text, reply.headers, reply.held)

    def _rows(self, method: str, request: Request) -> Reply:
        if method == "POST":
            answer = [self.rows[str(one["id"])] for one in request.keys if str(one["id"]) in self.rows]
            return Reply(text=_json(answer))
        answer = self.rows.get(request.keys[0])
        return Reply(404, '{"error": "there is no such customer"}') if answer is None else Reply(text=_json(answer))


def _json(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
