"""Jobs as YAML: what a file says is read and checked here, and built by the same verbs that Python calls."""

from headrace.spec.build import build
from headrace.spec.checks import check
from headrace.spec.document import Document, document
from headrace.spec.jsonschema import schema

__all__ = ["Document", "build", "check", "document", "schema"]
