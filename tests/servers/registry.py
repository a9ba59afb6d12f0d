"""A schema registry with the part of Confluent's API that readers and writers use, in this process: none can be had from a package.

It keeps BACKWARD as far as tests need that: of Avro, JSON Schema and Protobuf the outermost fields are compared.
"""

from __future__ import annotations

import base64
import json
import re
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from uuid import uuid4

import pytest

WORD = "Basic " + base64.b64encode(b"me:geheim").decode()


class Registry:
    """Schemas by number and by subject; `locked` wants the user me with his password, `broken` answers nothing else than 500, and
    `closed` is what it answers to those that ask for a schema by its number. `answers` is what it sends for everything that begins with
    `answers_to`, with a `status` and `headers`, as somebody in between would. With a `folder` it has the certificate in there.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.schemas: list[dict[str, Any]] = []
        self.subjects: dict[str, list[int]] = {}
        self.locked = self.broken = False
        self.closed: int | None = None
        self.answers: bytes | None = None
        self.answers_to, self.status = "/", 200
        self.headers: dict[str, str] = {}
        self.requested_paths: list[str] = []
        self.words: list[str | None] = []
        registry = self
        # A later registry may get the port of an earlier one, whose schemas are known by its address for as long as the JVM lives.
        place = f"/{uuid4().hex}"

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                registry.requested_paths.append(self._path())
                registry.words.append(self.headers.get("Authorization"))
                code, answer = registry.answer(self._path(), self.headers.get("Authorization"))
                self._send(code, answer)

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                self._send(*registry.take(self._path(), body, self.headers.get("Authorization")))

            def log_message(self, format: str, *args: Any) -> None:
                pass

            def _path(self) -> str:
                return self.path.removeprefix(place)

            def _send(self, code: int, answer: Any) -> None:
                body = json.dumps(answer).encode()
                headers = {"Content-Length": str(len(body))}
                if registry.answers is not None and self._path().startswith(registry.answers_to):
                    code, body = registry.status, registry.answers
                    headers = {"Content-Length": str(len(body)), **registry.headers}
                self.send_response(code)
                for name, text in headers.items():
                    self.send_header(name, text)
                self.end_headers()
                self.wfile.write(body)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if folder is not None:
            secure = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            secure.load_cert_chain(folder / "authority.pem", folder / "key.pem")
            self._server.socket = secure.wrap_socket(self._server.socket, server_side=True)
        self.url = f"{'http' if folder is None else 'https'}://127.0.0.1:{self._server.server_port}{place}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def register(self, subject: str, schema: Any, kind: str = "AVRO", references: tuple[tuple[str, str], ...] = ()) -> int:
        """Give a subject a new version; its number. `references`: names in the schema, and the subjects whose first version they are."""
        entry = {"schema": json.dumps(schema) if not isinstance(schema, str) else schema, "schemaType": kind}
        listed = [{"name": name, "subject": of, "version": 1} for name, of in references]
        self.schemas.append({**entry, "references": listed} if listed else entry)
        self.subjects.setdefault(subject, []).append(len(self.schemas))
        return len(self.schemas)

    def answer(self, path: str, word: str | None) -> tuple[int, Any]:
        if self.broken:
            return 500, {"error_code": 50001, "message": "broken"}
        if self.locked and word != WORD:
            return 401, {"error_code": 401, "message": "Unauthorized"}
        match [unquote(part) for part in path.strip("/").split("/")]:
            case ["schemas", "ids", _] if self.closed is not None:
                return self.closed, {"error_code": self.closed, "message": "closed"}
            case ["schemas", "ids", number] if 0 < int(number) <= len(self.schemas):
                return 200, self.schemas[int(number) - 1]
            case ["subjects", subject, "versions", "latest"] if subject in self.subjects:
                number = self.subjects[subject][-1]
                return 200, {"subject": subject, "id": number, "version": len(self.subjects[subject]), **self.schemas[number - 1]}
            case ["subjects", subject, "versions", version] if version.isdigit() and 0 < int(version) <= len(
                self.subjects.get(subject, [])
            ):
                number = self.subjects[subject][int(version) - 1]
                return 200, {"subject": subject, "id": number, "version": int(version), **self.schemas[number - 1]}
        return 404, {"error_code": 40403 if path.startswith("/schemas") else 40401, "message": "not found"}

    def take(self, path: str, body: dict[str, str], word: str | None) -> tuple[int, Any]:
        """Registers a schema, or says what there is against it."""
        if self.broken:
            return 500, {"error_code": 50001, "message": "broken"}
        if self.locked and word != WORD:
            return 401, {"error_code": 401, "message": "Unauthorized"}
        entry = {"schema": body["schema"], "schemaType": body.get("schemaType", "AVRO")}
        match [unquote(part) for part in path.partition("?")[0].strip("/").split("/")]:
            case ["compatibility", "subjects", subject, "versions"] | ["compatibility", "subjects", subject, "versions", "latest"]:
                reasons = self._against(subject, entry)
                return 200, {"is_compatible": not reasons, "messages": reasons}
            case ["subjects", subject]:
                if entry in (self.schemas[number - 1] for number in self.subjects.get(subject, [])):
                    return 200, {"subject": subject, **entry}
                return 404, {"error_code": 40403, "message": "Schema not found"}
            case ["subjects", subject, "versions"]:
                for number in self.subjects.get(subject, []):
                    if self.schemas[number - 1] == entry:
                        return 200, {"id": number}
                if not _fields(entry):
                    return 422, {"error_code": 42201, "message": "Invalid schema: it has no fields"}
                if self._against(subject, entry):
                    message = f'Schema being registered is incompatible with an earlier schema for subject "{subject}"'
                    return 409, {"error_code": 409, "message": message}
                return 200, {"id": self.register(subject, entry["schema"], entry["schemaType"])}
        return 404, {"error_code": 404, "message": "HTTP 404 Not Found"}

    def _against(self, subject: str, new: dict[str, str]) -> list[str]:
        """Why readers by a new schema cannot read what was written by the last one."""
        for number in self.subjects.get(subject, [])[-1:]:
            old = self.schemas[number - 1]
            if old["schemaType"] != new["schemaType"]:
                return ["Incompatible because of different schema type"]
            had, has = _fields(old), _fields(new)
            changed = [
                f"{{errorType:'TYPE_MISMATCH', description:'The type (path '{name}') was {had[name][0]}'}}"
                for name in has if name in had and had[name][0] != has[name][0]
            ]  # fmt: skip
            added = [
                f"{{errorType:'READER_FIELD_MISSING_DEFAULT_VALUE', description:'The field '{name}' has no default value'}}"
                for name, (_, needed) in has.items() if name not in had and needed
            ]  # fmt: skip
            return changed + added
        return []

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def _fields(entry: dict[str, str]) -> dict[str, tuple[str, bool]]:
    """What fields a schema has by their names, or numbers: the type, and whether old records would lack it."""
    if entry["schemaType"] == "PROTOBUF":
        fields = re.findall(r"^  (?:optional |repeated )?(\S+) \w+ = (\d+)[ ;]", entry["schema"], re.M)
        return {number: (type, False) for type, number in fields}
    schema = json.loads(entry["schema"])
    if entry["schemaType"] == "JSON":
        is_open = schema.get("additionalProperties", True) is not False
        required = schema.get("required", [])
        return {name: (json.dumps(of.get("type")), is_open or name in required) for name, of in schema.get("properties", {}).items()}
    return {field["name"]: (json.dumps(field["type"]), "default" not in field) for field in schema["fields"]}


@pytest.fixture
def registry() -> Iterator[Registry]:
    server = Registry()
    yield server
    server.close()
