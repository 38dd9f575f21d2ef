#!/bin/sh
# Runs a script with the Python of the local virtual environment (made by `make deps`). Without it the exit
# status is 77, which ctest counts as skipped.
root=$(cd "$(dirname "$0")/.." && pwd)
if [ ! -x "$root/.venv/bin/python" ]; then
  echo "no $root/.venv: run make deps" >&2
  exit 77
fi
exec "$root/.venv/bin/python" "$@"
