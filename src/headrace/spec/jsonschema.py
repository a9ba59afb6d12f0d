"""The JSON schema of jobs in YAML, for editors, made from the tables that the reader uses."""

from __future__ import annotations

from headrace.plan.meaning import MEANING
from headrace.spec import connectors
from headrace.spec.document import REQUIRED
from headrace.spec.include import INCLUDED, OWN
from headrace.spec.kinds import Json
from headrace.spec.verbs import verbs

_NAME: Json = {"type": "string"}


def schema(only: str = "") -> Json:
    """Return the schema of a job and of the files it includes, with all installed connectors or those of one package."""
    sections = {
        "job": {"type": "string", "description": "the name of the job"},
        "settings": {
            "type": "object",
            "properties": {key: {"type": ["string", "boolean"]} for key in MEANING},
            "additionalProperties": False,
        },
        "include": {"type": "array", "items": {"type": "string"}, "description": "files with more sources, lookups and views"},
        "sources": {"type": "object", "additionalProperties": _source(only)},
        "lookups": {"type": "object", "additionalProperties": connectors.schemas("Lookup", {"connector": {}}, only)},
        "views": {"type": "object", "additionalProperties": _view()},
        "sinks": {"type": "object", "additionalProperties": _sink(only), "minProperties": 1},
        "checks": {"type": "array", "items": _check()},
    }
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "a job of headrace",
        "type": "object",
        "properties": {key: sections[key] for key in OWN},
        "additionalProperties": False,
        "anyOf": [{"required": ["job", "sinks"]}, {"properties": {key: False for key in OWN if key not in INCLUDED}}],
    }


def _source(only: str) -> Json:
    return connectors.schemas("Source", {"connector": {}, "watermark": verbs()["watermark"].schema()}, only)


def _sink(only: str) -> Json:
    return connectors.schemas("Sink", {"connector": {}, "from": _NAME}, only)


def _view() -> Json:
    alone = [name for name, verb in verbs().items() if not verb.only and not any(one.needed for one in verb.parameters.values())]
    called = {
        "type": "object",
        "properties": {name: verb.schema() for name, verb in verbs().items()},
        "additionalProperties": False,
        "minProperties": 1,
        "maxProperties": 1,
    }
    chain = {
        "type": "object",
        "properties": {"from": _NAME, "steps": {"type": "array", "items": {"anyOf": [{"enum": alone}, called]}}},
        "required": ["from", "steps"],
        "additionalProperties": False,
    }
    return {"anyOf": [{"type": "string", "description": "a query in Spark SQL"}, chain]}


def _check() -> Json:
    properties: Json = {"view": _NAME, "sink": _NAME, "require": {"enum": list(REQUIRED)}, "schema": {"type": "string"}}
    return {
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        "oneOf": [{"required": ["require"]}, {"required": ["schema"]}],
    }
