"""Protobuf messages, as the kernel reads them from a registry or a descriptor file."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headrace.connectors.kafka.registry import cure
from headrace.errors import ConnectorError, here
from headrace.jvm.session import jvm, session
from headrace.ports.options import wrong
from headrace.schema import Struct


def described(verb: str, value: str, descriptor: Any, message: Any, *, registry: bool) -> tuple[str | None, str | None]:
    """A source's options `descriptor` and `message`, checked: the file with the schema of the values, and the name of a Protobuf message in
    it.
    """
    for option, argument, of in (("descriptor", descriptor, ("avro", "protobuf")), ("message", message, ("protobuf",))):
        if argument is not None and (value not in of or not isinstance(argument, str) or not argument):
            alone = (option, value) == ("descriptor", "avro")
            example = 'value="avro": descriptor="order.avsc"' if alone else f'value="protobuf": {_EXAMPLE}'
            raise wrong(f"{verb}: {option} cannot be {argument!r}", f"it is a string, with {example}")
    if descriptor is not None and registry:
        raise wrong(f"{verb}: registry= and descriptor= cannot both be set", "remove one of them")
    if value == "protobuf" and not registry and (descriptor is None or message is None):
        raise wrong(
            f"{verb}: value='protobuf' needs a registry, or a descriptor and a message", f'registry="http://localhost:8081" or {_EXAMPLE}'
        )
    return descriptor, message


def of_file(file: str) -> str:
    """The descriptors in a file, as the kernel takes them."""
    try:
        return base64.b64encode(Path(file).expanduser().read_bytes()).decode()
    except OSError as cause:
        raise ConnectorError(
            "DESCRIPTOR_UNREADABLE", f"the file {file} cannot be read: {cause.strerror}", hint=_DESCRIPTOR_HINT, site=here()
        ) from None


def look(request: Mapping[str, str]) -> dict[str, Any]:
    """The properties of a message: its name, its file as a descriptor, and the numbers of its fields. `request` has the place of its
    schema: `registry`, its credentials and `id`, or `descriptor`; and `message`, its name, unless it is the first.
    """
    return schema_answer(request, _kernel().look(json.dumps(dict(request))))


def columns(request: Mapping[str, str]) -> str:
    """The columns of a message, as a Spark schema."""
    return str(schema_answer(request, _kernel().columns(json.dumps(dict(request))))["ddl"])


def unreadable(request: Mapping[str, str], schema: Struct) -> str | None:
    """The reason why a message cannot be read as these columns; None if it can."""
    return schema_answer(request, _kernel().unreadable(json.dumps(dict(request)), schema.ddl)).get("why")


def described_as(what: str, why: str | None) -> None:
    """Raise if the schema in a file cannot be read as the columns that a user gave."""
    if why is not None:
        hint = "remove `schema` to use its own, or give columns that it has"
        text = f"{what} cannot be read as the given columns: {' '.join(why.split())}"
        raise ConnectorError("DESCRIPTOR_UNREADABLE", text, hint=hint, site=here())


def unwritable(request: Mapping[str, str], schema: Struct) -> str | None:
    """The reason why a message cannot be made from these columns; None if it can."""
    return schema_answer(request, _kernel().unwritable(json.dumps(dict(request)), schema.ddl)).get("why")


def _kernel() -> Any:
    return jvm(session()).headrace.kafka.Messages


def schema_answer(request: Mapping[str, str], answer: str) -> dict[str, Any]:
    """The kernel's answer about a schema; raises the problem in it."""
    content: dict[str, Any] = json.loads(answer)
    if "problem" not in content:
        return content
    if "code" in content:
        hint = cure(content["problem"].partition(" cannot be used: ")[2]) if content["code"] == "REGISTRY_UNREACHABLE" else None
        raise ConnectorError(content["code"], content["problem"], hint=hint, site=here())
    if "descriptor" in request:
        raise ConnectorError(
            "DESCRIPTOR_UNREADABLE", f"the descriptor file is invalid: {content['problem']}", hint=_DESCRIPTOR_HINT, site=here()
        )
    raise ConnectorError(
        "REGISTRY_SCHEMA",
        f"the schema {request['id']} in the registry cannot be read: {' '.join(content['problem'].split())}",
        hint='correct it there, or read the values as bytes: value="raw"',
        site=here(),
    )


_EXAMPLE = 'descriptor="orders.desc", message="Order"'
_DESCRIPTOR_HINT = (
    "create it with protoc --include_imports --descriptor_set_out=orders.desc orders.proto; message= names one of its messages"
)
