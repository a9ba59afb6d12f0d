"""How a sink writes its keys and values in registry formats: the schema is found, or registered, when it opens."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from headrace.connectors.kafka.avro import avro_schema
from headrace.connectors.kafka.jsonschema import filled, json_schema, unfit
from headrace.connectors.kafka.messages import look, unwritable
from headrace.connectors.kafka.protobuf import Numbers, protobuf_schema
from headrace.connectors.kafka.registry import Registered, Registry
from headrace.connectors.kafka.values import whole
from headrace.errors import ConnectorError, here
from headrace.jvm.session import jvm, session
from headrace.schema import Struct


@dataclass(frozen=True)
class Writing:
    """The schema by which the columns of a key or a value are written: `part` is "key" or "value", `record` the name of the record made of
    them. With `register` it is made from the columns, else it is the newest of the subject. Of a Protobuf schema it is the message named
    `record`, or the first one with `first`.
    """

    registry: Registry
    register: bool
    part: str
    format: str
    topic: str
    record: str
    first: bool = False

    @property
    def subject(self) -> str:
        return self.registry.named(self.part, self.topic, self.record)

    def suits(self, columns: Struct) -> None:
        """Raise if the columns could not be written; registers nothing."""
        if self.register:
            self.registry.allows(self.subject, self.format, self._schema(columns))
        else:
            self._latest(columns)

    def document(self, columns: Struct) -> dict[str, Any]:
        """For the writer in the tasks: the number of the schema, and its content."""
        schema = self._registered(columns) if self.register else self._latest(columns)
        document = {"format": self.format, "id": schema.id}
        if self.format == "avro":
            return {**document, "schema": schema.text}
        if self.format == "protobuf":
            seen = look(self._place(schema))
            return {**document, "descriptor": seen["descriptor"], "message": seen["message"]}
        return {**document, "filled": filled(schema.text, columns)}

    def _place(self, schema: Registered) -> dict[str, str]:
        return {**self.registry.kernel(), "id": str(schema.id), "message": "" if self.first else self.record}

    def _registered(self, columns: Struct) -> Registered:
        return self.registry.register(self.subject, self.format, self._schema(columns))

    def _schema(self, columns: Struct) -> str:
        if self.format == "avro":
            return avro_schema(columns, self.record)
        if self.format == "json_schema":
            return json_schema(columns, self.record)
        before = self.registry.newest(self.subject, self.format)
        if before is None:
            return protobuf_schema(columns, self.record)
        seen = look({**self.registry.kernel(), "id": str(before.id), "message": ""})
        return protobuf_schema(columns, self.record, Numbers.of(seen["numbers"]))

    def _latest(self, columns: Struct) -> Registered:
        schema = self.registry.latest(self.subject, self.format)
        if self.format == "json_schema":
            why = unfit(schema.text, columns)
        elif self.format == "avro":
            schema = replace(schema, text=whole(self.registry, schema))
            why = jvm(session()).org.apache.spark.sql.headrace.Avro.unwritable(schema.text, columns.ddl)
        else:
            why = unwritable(self._place(schema), columns)
        if why is not None:
            raise ConnectorError(
                "REGISTRY_SCHEMA",
                f"the columns cannot be written with the schema {schema.id} of {self.subject}: {' '.join(why.split())}",
                hint="rename and cast the columns to match it, or let the sink register their schema: register=True",
                site=here(),
            )
        return schema
