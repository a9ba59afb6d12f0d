"""A server that takes what `write.http(..., idempotent=True)` posts: each batch once under its key, with which it stands in a file of SQLite.

GET shows the rows that were posted to the same address, a line each. `python receiver.py PORT FILE` serves until it is killed.
"""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    file: str

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self._run("INSERT INTO batches VALUES (?, ?, ?) ON CONFLICT DO NOTHING", (self.path, self.headers["Idempotency-Key"], body))
        self._answer("")

    def do_GET(self) -> None:
        self._answer("".join(body for (body,) in self._run("SELECT body FROM batches WHERE path = ?", (self.path,))))

    def _run(self, statement: str, values: tuple[str, ...]) -> list[tuple[str, ...]]:
        with closing(sqlite3.connect(self.file, timeout=60)) as kept, kept:
            return kept.execute(statement, values).fetchall()

    def _answer(self, text: str) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *args: object) -> None:
        pass


def serve(port: int, file: str) -> None:
    with closing(sqlite3.connect(file)) as kept, kept:
        kept.execute("CREATE TABLE IF NOT EXISTS batches (path TEXT, key TEXT, body TEXT, PRIMARY KEY (path, key))")
    Handler.file = file
    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()


if __name__ == "__main__":
    serve(int(sys.argv[1]), sys.argv[2])
