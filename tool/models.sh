#!/bin/bash
# make models: the cost models that come with the program (src/learn/pretrained), fitted to the tables of times of bench/tables.
# The tables of a class of machines begin with its name; which machine, they say themselves, so that any may fit them.
set -euo pipefail
cd "$(dirname "$0")/.."
for table in bench/tables/*-l2_*k.gz; do
  class=$(basename "$table" .gz)
  target=$(tool/python.sh -c 'import gzip, json, sys; print(json.loads(gzip.open(sys.argv[1], "rt").readline())["target"])' "$table")
  build/familyseer pretrain "bench/tables/$class"*.gz --target "$target" -o "src/learn/pretrained/$class.bank"
done
echo "now build again: make all" >&2
