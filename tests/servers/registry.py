"""A schema registry with the part of Confluent's API that readers and writers use, in this process: none can be had from a package."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

import pytest

WORD = "Basic " + base64.b64encode(b"me:geheim").decode()


class Registry:
    """Schemas by number and by subject; `locked` wants the user me with his password, `broken` answers nothing else than 500."""

    def __init__(self) -> None:
        self.schemas: list[dict[str, str]] = []
        self.subjects: dict[str, list[int]] = {}
        self.locked = self.broken = False
        self.asked: list[str] = []
        registry = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                registry.asked.append(self.path)
                code, answer = registry.answer(self.path, self.headers.get("Authorization"))
                self._send(code, answer)

            def do_POST(self) -> None:
                given = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                self._send(*registry.take(self.path, given, self.headers.get("Authorization")))

            def log_message(self, format: str, *args: Any) -> None:
                pass

            def _send(self, code: int, answer: Any) -> None:
                body = json.dumps(answer).encode()
                self.send_response(code)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def register(self, subject: str, schema: Any, kind: str = "AVRO") -> int:
        """Give a subject a new version; its number."""
        self.schemas.append({"schema": json.dumps(schema) if not isinstance(schema, str) else schema, "schemaType": kind})
        self.subjects.setdefault(subject, []).append(len(self.schemas))
        return len(self.schemas)

    def answer(self, path: str, word: str | None) -> tuple[int, Any]:
        if self.broken:
            return 500, {"error_code": 50001, "message": "broken"}
        if self.locked and word != WORD:
            return 401, {"error_code": 401, "message": "Unauthorized"}
        match [unquote(part) for part in path.strip("/").split("/")]:
            case ["schemas", "ids", number] if 0 < int(number) <= len(self.schemas):
                return 200, self.schemas[int(number) - 1]
            case ["subjects", subject, "versions", "latest"] if subject in self.subjects:
                number = self.subjects[subject][-1]
                return 200, {"subject": subject, "id": number, "version": len(self.subjects[subject]), **self.schemas[number - 1]}
        return 404, {"error_code": 40403, "message": "not found"}

    def take(self, path: str, given: dict[str, str], word: str | None) -> tuple[int, Any]:
        """Registers as `BACKWARD` asks for Avro: a field that is new has a default."""
        if self.locked and word != WORD:
            return 401, {"error_code": 401, "message": "Unauthorized"}
        subject = unquote(path.strip("/").split("/")[1])
        entry = {"schema": given["schema"], "schemaType": given.get("schemaType", "AVRO")}
        for number in self.subjects.get(subject, []):
            if self.schemas[number - 1] == entry:
                return 200, {"id": number}
        for number in self.subjects.get(subject, [])[-1:]:
            had = {field["name"] for field in json.loads(self.schemas[number - 1]["schema"])["fields"]}
            for field in json.loads(given["schema"])["fields"]:
                if field["name"] not in had and "default" not in field:
                    message = f"Schema being registered is incompatible with an earlier schema for subject {subject}: no default for {field['name']}"
                    return 409, {"error_code": 409, "message": message}
        return 200, {"id": self.register(subject, given["schema"], entry["schemaType"])}

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def registry() -> Iterator[Registry]:
    made = Registry()
    yield made
    made.close()
