"""The sink: the batches of an epoch, and the handling of a refused one."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import headrace.ports as ports
from headrace.connectors.http.post import Poster, Refused
from headrace.connectors.http.request import Headers, address_of, canonical, headers_option
from headrace.errors import RunError
from headrace.points import point
from headrace.ports import Secret, option, weights
from headrace.ports.aside import put_aside
from headrace.ports.options import certificates
from headrace.ports.secrets import HEADER
from headrace.schema import Struct, plain

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PACKAGES = (ports.Packages(modules=("urllib3",), extra="http", name="http"),)

FORMATS = {"json_lines": "application/x-ndjson", "json": "application/json"}
VERB = "write.http"
_URL = 'it is the address to post to: "https://example.org/charges"'


class Sink(ports.Options, ports.Sink):
    """Posts the rows of each epoch to an HTTP server in batches of JSON.

    The sink is at least once: a batch whose response was lost is sent again, and so are all batches of an interrupted epoch. A repeated
    batch has the same `Idempotency-Key`. `idempotent=True` declares that the server accepts each key once; the sink is then exactly once.
    Rows that the server rejects (400, 413, 422, and 409 without `idempotent=True`) become dead letters. Needs `pip install
    "headrace[http]"`.

    Examples:
        >>> import headrace as hr
        >>> charges = hr.read.memory([("a", 1)], "card string, amount int", name="charges")
        >>> hr.job("send", charges.write.http("https://example.org/charges", token=hr.secret("TOKEN")))
        <Job send: charges.http>
    """

    connector: ClassVar[str] = "http"

    stored: ClassVar[str] = "always"

    url: str = option.option(
        "`http://` or `https://`; a user name or password in it is refused",
        lambda verb, _, url: address_of(verb, url, _URL),
        takes=str,
        kw_only=False,
    )
    format: str = option.choice(
        '`"json_lines"` (one object per line, `application/x-ndjson`) or `"json"` (an array, `application/json`)',
        tuple(FORMATS),
        default="json_lines",
    )
    batch: int = option.number("rows per request", default=500)
    headers: Mapping[str, str | Secret] = headers_option()
    token: Secret | None = option.secret('a secret, `hr.secret("NAME")`, sent as `Authorization: Bearer`', takes=HEADER, default=None)
    timeout_ms: int = option.duration("how long to wait for a response", alias="timeout", default="30 seconds")
    retries: int = option.number(
        "how often a failed batch is [sent again](#responses); then the run ends ([HTTP_FAILED](../errors/HTTP_FAILED.md))",
        least=0,
        default=5,
    )
    backoff_ms: int = option.duration(
        "the first pause between attempts; it doubles up to 30 seconds", alias="backoff", default="200 milliseconds"
    )
    idempotent: bool = option.flag("the server accepts each `Idempotency-Key` once", default=False)
    ca: str | None = option.certificates(
        "a PEM file of certificates to trust instead of the machine's; it must exist when the sink is created", default=None
    )

    def __post_init__(self) -> None:
        self._changes = False
        self._context: ports.SinkContext | None = None
        self._poster: Poster | None = None

    @property
    def traits(self) -> ports.SinkTraits:
        if self.idempotent:
            why = "each batch has its own key, and idempotent=True declares that the server accepts a key once"
            return ports.SinkTraits("idempotent", why, ("append", "changes"), batched=True, visible="row")
        why = "a batch whose response was lost is sent again; idempotent=True declares that the server accepts each Idempotency-Key once"
        return ports.SinkTraits("plain", why, ("append", "changes"), visible="row")

    @property
    def needs(self) -> ports.Packages:
        return PACKAGES[0]

    def lays_out(self) -> dict[str, Any]:
        return {"url": self.url, "format": self.format, "batch": self.batch, "idempotent": self.idempotent}

    def written_as(self, mode: str, schema: Struct) -> dict[str, Any]:
        # The server decides how it stores the rows.
        return {}

    def describe(self) -> str:
        return f"http {self.url.partition('?')[0]}"

    @property
    def location(self) -> str:
        return f"http {canonical(self.url)}"

    def may_open(self, context: ports.SinkContext) -> None:
        headers, trusted = self._secrets()
        Poster(self.url, headers, self.timeout_ms, self.retries, self.backoff_ms, trusted, self.idempotent).reach()

    def open(self, context: ports.SinkContext) -> None:
        self._context = context
        headers, trusted = self._secrets()
        self._poster = Poster(self.url, headers, self.timeout_ms, self.retries, self.backoff_ms, trusted, self.idempotent)

    def _secrets(self) -> tuple[dict[str, str], str | None]:
        """The headers with the secrets themselves, and the certificates to trust."""
        headers = {"Content-Type": FORMATS[self.format], **Headers(self.headers, self.token).read()}
        return headers, None if self.ca is None else certificates(VERB, "ca", self.ca)

    def stage(self) -> dict[str, Any]:
        return {"kind": "rows"}

    def unswappable(self) -> str:
        return "requests over HTTP cannot be withdrawn"

    def commit(self, epoch: int, staged: ports.Staged) -> None:
        context, poster = self._opened()
        texts = self._texts(staged, context)
        for place, at in enumerate(range(0, len(texts), self.batch)):
            rows = texts[at : at + self.batch]
            if place:
                point("in sink commit", context.name)
            key = f"{context.checkpoint_id}-{context.name}-{epoch}-{place}" + (f"-{staged.identity}" if staged.identity else "")
            refused = self._refused(poster, rows, key, f"batch {place} of epoch {epoch} of {context.name}")
            put_aside(context, epoch, refused, place + 1)

    def _refused(self, poster: Poster, rows: Sequence[str], key: str, what: str) -> list[tuple[str, str]]:
        """Post rows, and each half of them if they are refused, under a key that includes the half. Returns the rows that are refused
        alone, with the reasons.
        """
        body = "[" + ",".join(rows) + "]" if self.format == "json" else "\n".join(rows) + "\n"
        try:
            poster.post(body.encode(), key, what)
        except Refused as refusal:
            if self.on_refused == "fail" or not refusal.of_rows:
                raise self._failed(refusal) from None
            half = len(rows) // 2
            if not half:
                return [(refusal.reason, rows[0])]
            return [
                *self._refused(poster, rows[:half], f"{key}-0", what),
                *self._refused(poster, rows[half:], f"{key}-1", what),
            ]
        return []

    def close(self) -> None:
        if self._poster is not None:
            self._poster.close()
        self._context = self._poster = None

    def elsewhere(self, place: ports.Elsewhere) -> Sink | None:
        if place.server is None:
            return None
        # Secrets are for the user's own server.
        options = {name: value for name, value in self.options().items() if name not in ("headers", "token", "ca")}
        sink = Sink(**{**options, "url": f"{place.server.rstrip('/')}/{place.name}"})
        sink._changes = place.mode == "changes"
        return sink

    def contents(self, session: SparkSession, schema: Struct, mode: str) -> DataFrame:
        import urllib3

        answer = urllib3.request("GET", self.url, timeout=self.timeout_ms / 1000)
        if answer.status != 200:
            hint = "--server http=URL needs a server whose GET returns the rows posted to the same address, as JSON lines"
            raise RunError("HTTP_FAILED", f"{self.url} does not return what was posted to it: HTTP {answer.status}", hint=hint)
        counts: Counter[str] = Counter()
        for line in filter(None, answer.data.decode().split("\n")):
            row = json.loads(line)
            # The number of changes depends on the epochs, which may differ between runs; the net rows do not.
            gone = self._changes and row.pop("_change") == "delete"
            counts[json.dumps(row)] += -1 if gone else 1
        ddl = schema.text.replace("'", "\\'")
        rows = session.createDataFrame([(text,) for text in counts.elements()], "value string")
        return rows.selectExpr(f"inline(array(from_json(value, '{ddl}')))")

    def _texts(self, staged: ports.Staged, context: ports.SinkContext) -> list[str]:
        """The rows as JSON, in an order that is the same for each try of the epoch, so that a key always has the same batch."""
        changes = weights.changes_of(staged, context)
        if context.mode == "append":
            rows: Iterator[dict[str, Any]] = (plain(row, context.schema) for row, _ in changes)
        else:
            rows = (
                {**plain(row, context.schema), "_change": "insert" if weight > 0 else "delete"}
                for row, weight in changes
                for _ in range(abs(weight))
            )
        texts = [json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows]
        # Retractions first.
        return sorted(texts, key=lambda text: (not text.endswith('"_change":"delete"}'), text))

    def _failed(self, refusal: Refused) -> RunError:
        hint = "the next start sends it again, with the same key"
        if self.on_refused == "fail" and refusal.of_rows:
            hint += '; with on_refused="dead_letter", rejected rows become dead letters'
        return RunError("HTTP_REFUSED", str(refusal), hint=hint)

    def _opened(self) -> tuple[ports.SinkContext, Poster]:
        if self._context is None or self._poster is None:
            raise RuntimeError("the sink is not open")
        return self._context, self._poster
