"""Jobs as YAML: files are read and checked here, and built with the same verbs as in Python."""

from headrace.spec.build import build
from headrace.spec.checks import check
from headrace.spec.document import Document, document
from headrace.spec.jsonschema import schema

__all__ = ["Document", "build", "check", "document", "schema"]
