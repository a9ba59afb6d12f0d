"""What `protoc` and Protobuf's own library make of schemas and of bytes: they know nothing of headrace."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

# The files that registries take for granted, as far as the tests need them.
_FILES = {
    "confluent/meta.proto": """\
        syntax = "proto3"; package confluent; import "google/protobuf/descriptor.proto";
        message Meta { string doc = 1; map<string, string> params = 2; repeated string tags = 3; }
        extend google.protobuf.FieldOptions { Meta field_meta = 1088; }""",
    "confluent/type/decimal.proto": """\
        syntax = "proto3"; package confluent.type; message Decimal { bytes value = 1; uint32 precision = 2; int32 scale = 3; }""",
    "google/type/date.proto": """\
        syntax = "proto3"; package google.type; message Date { int32 year = 1; int32 month = 2; int32 day = 3; }""",
}


def compiled(text: str, **more: str) -> bytes:
    """The set of descriptors that `protoc` makes of a file, with all that it imports; `more`: other files by their names, without `.proto`."""
    from importlib.resources import files

    from grpc_tools import protoc

    with tempfile.TemporaryDirectory() as place:
        all_of = {**_FILES, **{f"{name}.proto": of for name, of in more.items()}, "schema.proto": text}
        for name, of in all_of.items():
            (Path(place) / name).parent.mkdir(parents=True, exist_ok=True)
            (Path(place) / name).write_text(of)
        descriptor = Path(place) / "schema.desc"
        known = files("grpc_tools") / "_proto"
        command = ["protoc", f"-I{place}", f"-I{known}", "--include_imports", f"--descriptor_set_out={descriptor}", "schema.proto"]
        assert protoc.main(command) == 0
        return descriptor.read_bytes()


def message(descriptors: bytes, name: str) -> Any:
    """The class of a message in a set of descriptors."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(descriptors).file:
        pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(name))
