"""`python -m tests.spark.layers`: say which cases differ; with `--rewrite`, write them anew. Names of cases may follow."""

from __future__ import annotations

import sys

from tests.spark.layers.case import Case, cases


def main(arguments: list[str]) -> int:
    """The number of cases that differ, or that were written."""
    rewrite = "--rewrite" in arguments
    wanted = [one for one in arguments if not one.startswith("--")]
    changed = 0
    for name, file in cases().items():
        if wanted and name not in wanted:
            continue
        try:
            text = Case.read(file).whole()
        except Exception as error:
            raise RuntimeError(f"the case {name}") from error
        if text != file.read_text(encoding="utf-8"):
            changed += 1
            print("wrote" if rewrite else "differs:", name)
            if rewrite:
                file.write_text(text, encoding="utf-8")
    return 0 if rewrite else min(changed, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
