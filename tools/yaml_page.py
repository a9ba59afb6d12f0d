"""Writes the parts of the documentation of YAML that come from verbs and connectors: docs/job.schema.json, a list in reference/yaml.md."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests import installed  # noqa: F401  # the connectors of this tree, whatever was installed before they were made

from headrace import spec
from headrace.spec.verbs import verbs

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE, SCHEMA = DOCS / "reference" / "yaml.md", DOCS / "job.schema.json"
_VERBS = re.compile(r"(?<=^The verbs are ).*?(?=\. State programs)", re.M | re.S)


def page() -> str:
    """Return the page with the current list."""
    *names, last = (f"`{verb}`" for verb in verbs())
    return _VERBS.sub(f"{', '.join(names)} and {last}", PAGE.read_text(encoding="utf-8"))


def schema() -> str:
    """Return the schema of headrace's own connectors, as `headrace schema` prints it."""
    return json.dumps(spec.schema(only="headrace.connectors."), indent=2) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    SCHEMA.write_text(schema(), encoding="utf-8")
