#!/bin/sh
# Sets up .venv in the root of the repository: checks the machine first, then installs what requirements.lock names, or with the
# argument `demo` the part of it that the demo needs. With `spark42` it sets up .venv42, which has the older Spark of requirements-spark42.lock.
# Done already: says nothing and takes no time. Downloads only through pip, with its settings.
set -eu
cd "$(dirname "$0")/.."

problems=0
problem() { # what is wrong, then how to cure it
  echo "setup: $1" >&2
  echo "       cure: $2" >&2
  problems=1
}

venv=.venv
if [ "${1:-}" = spark42 ]; then venv=.venv42; fi

# --- the Python that makes the environment
python=
for name in ${PYTHON3:-} python3 python3.13 python3.12 python3.11; do
  if command -v "$name" >/dev/null 2>&1 && "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    python=$name
    break
  fi
done

# --- is it done already?
no_java=0
if [ -z "${JAVA_HOME:-}" ] && ! command -v java >/dev/null 2>&1; then no_java=1; fi
wanted="$(cat requirements.lock requirements-demo.lock requirements-java.lock requirements-spark42.lock pyproject.toml tools/setup.sh | cksum) $PWD"
whole=$venv/.headrace-setup
stamp=$whole lock=requirements.lock
if [ "${1:-}" = demo ]; then stamp=$venv/.headrace-demo lock=requirements-demo.lock; fi
for done in "$stamp" "$whole"; do
  if [ -f "$done" ] && [ "$(cat "$done")" = "$wanted" ] && $venv/bin/python -c '' 2>/dev/null; then
    if [ "$no_java" = 0 ] || [ -f $venv/.headrace-java ]; then exit 0; fi
  fi
done

# --- everything is checked before anything is downloaded
install="apt-get install -y git make python3-venv"
command -v git >/dev/null 2>&1 || problem "git is missing" "$install"
command -v make >/dev/null 2>&1 || problem "make is missing" "$install"
command -v bash >/dev/null 2>&1 || problem "bash is missing, which Spark's own scripts need" "apt-get install -y bash"
if [ -z "$python" ]; then
  problem "no Python 3.11 or newer on the PATH" "$install   (or name one: PYTHON3=/path/to/python3.12 make setup)"
elif ! "$python" -c 'import venv, ensurepip' 2>/dev/null; then
  problem "$python cannot make virtual environments" "$install"
fi
free=$(df -Pk . | awk 'NR == 2 { print int($4 / 1024) }')
have=0
if [ -d $venv ]; then have=$(du -sm $venv 2>/dev/null | awk '{ print $1 }'); fi
if [ $((free + have)) -lt 3000 ]; then
  problem "$free MB of disk are free here, and 3 GB are needed" "make room, or clone to another disk"
fi
if [ -r /proc/meminfo ]; then
  # A machine of 4 GB reports a little less than that.
  memory=$(awk '/^MemTotal:/ { print int($2 / 1024) }' /proc/meminfo)
  for limit in /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes; do
    if [ -r "$limit" ]; then
      allowed=$(awk '/^[0-9]+$/ { printf "%d", $1 / 1048576 }' "$limit")
      if [ -n "$allowed" ] && [ "$allowed" -lt "$memory" ]; then memory=$allowed; fi
    fi
  done
  [ "$memory" -ge 3500 ] || problem "this machine has $memory MB of memory, and 4 GB are needed" "use a larger machine or container"
fi
[ -w . ] || problem "this folder cannot be written to" "change its owner, or clone it anew"
[ "$problems" = 0 ] || exit 1

if [ ! -x $venv/bin/python ] || ! $venv/bin/python -c 'import pip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
  echo "setup: making $venv with $("$python" --version)"
  rm -rf $venv
  "$python" -m venv $venv
fi
rm -f "$stamp" "$whole"

# --- one small package first: whether a registry answers shows before the large downloads
probe=$(mktemp -d)
others=
trap 'if [ -n "$others" ]; then kill "$others" 2>/dev/null || true; fi; rm -rf "$probe"' EXIT
trap 'exit 130' INT TERM
small=$(sed -n 's/^\(mdurl==[^ ]*\).*/\1/p' "$lock")
if ! $venv/bin/python -m pip download --quiet --disable-pip-version-check --no-deps --no-cache-dir --timeout 20 --retries 1 --dest "$probe" "$small" 2>"$probe/err"; then
  tail -n 3 "$probe/err" >&2
  problem "no package registry answers" "check the network; behind a mirror or proxy set PIP_INDEX_URL or HTTPS_PROXY, or pip's configuration file"
  exit 1
fi

# Twice quiet: of warnings about how a package is made there is nothing that a user could do; errors are still said.
# Without dependencies: the lock file names all of them.
pip() { $venv/bin/python -m pip "$@" --no-deps --quiet --quiet --disable-pip-version-check --no-input; }
echo "setup: installing what $lock names (Spark is about 450 MB; minutes the first time)"
if [ "$no_java" = 1 ]; then
  echo "setup: no Java on this machine: installing a runtime into $venv (about 35 MB)"
  if ! pip install --require-hashes -r requirements-java.lock; then
    problem "there is no Java package for this kind of machine" "apt-get install -y openjdk-17-jre-headless, or set JAVA_HOME"
    exit 1
  fi
  touch $venv/.headrace-java
fi
# Spark takes a core for as long as everything else: it is installed, and the kernel compiled with it, beside the other packages.
spark='/^\(pyspark\|py4j\)==/,/[^\\]$/'
sed -n "${spark}p" "$lock" >"$probe/spark.txt"
sed "${spark}d" "$lock" >"$probe/others.txt"
if [ $venv = .venv42 ]; then
  sed -n '/^py4j==/,/[^\\]$/p' "$lock" | cat - requirements-spark42.lock >"$probe/spark.txt"
fi
(exec $venv/bin/python -m pip install --no-deps --quiet --quiet --disable-pip-version-check --no-input --require-hashes -r "$probe/others.txt") &
others=$!
# PySpark comes as source, of which pip makes a wheel. Its jars are packed already; packing them again would take half of the time.
pip install --config-settings=--build-option=--compression=stored --require-hashes -r "$probe/spark.txt"
# What fails here fails again where the kernel is needed, with its cure.
PYTHONPATH=src $venv/bin/python -c 'from headrace.jvm.compile import kernel_jar; kernel_jar()' || true
if ! wait "$others"; then
  others=
  exit 1
fi
others=
pip install --no-build-isolation --editable .
# Python reads .pth files in the encoding of the locale: under LC_ALL=C an absolute path with an umlaut would stop every start.
for pth in $venv/lib/python*/site-packages/*headrace*.pth; do echo "../../../../src" >"$pth"; done
if [ "$lock" = requirements.lock ] && [ $venv = .venv ]; then
  # Not needed, so a failure is only told.
  $venv/bin/python -m headrace prepare || echo "setup: going on without; starts of Spark will take longer" >&2
fi
echo "$wanted" >"$stamp"
echo "setup: done"
