#!/bin/bash
# Include order: a file of src/<folder> may include headers of its own folder and of those above it in src/LAYERS,
# the public headers, and what the system has. src/runtime goes into every model.so: of ours it may include only
# itself, base/base.h and base/processors.h (headers of libc alone) and the public headers. Tests may include everything.   tool/layers.sh [SRC]
src=${1:-src}
[ $# -gt 0 ] || cd "$(dirname "$0")/.." || exit 1
exec awk -v src="$src" '
  FILENAME == ARGV[1] { if ($0 ~ /^[a-z]+$/) rank[$0] = ++n; next }
  FNR == 1 {
    split(substr(FILENAME, length(src) + 2), part, "/")
    folder = part[1]
    if (!(folder in rank)) { print FILENAME ": folder " folder " is not in LAYERS"; bad = 1 }
  }
  /^[ \t]*#[ \t]*include[ \t]*"/ {
    path = $0
    sub(/^[^"]*"/, "", path); sub(/".*$/, "", path)
    if (path ~ /^seer\// || path == "onnx.pb-c.h") next
    split(path, part, "/")
    other = part[1]
    if (path !~ /\//) { print FILENAME ":" FNR ": \"" path "\": write the path from src/"; bad = 1; next }
    if (!(other in rank)) { print FILENAME ":" FNR ": \"" path "\": " other " is not in LAYERS"; bad = 1; next }
    if (rank[other] > rank[folder]) { print FILENAME ":" FNR ": " folder " must not include " other " (\"" path "\")"; bad = 1 }
    if (folder == "runtime" && other != "runtime" && path != "base/base.h" && path != "base/processors.h") {
      print FILENAME ":" FNR ": runtime is linked into every model.so and may not include \"" path "\""; bad = 1
    }
  }
  END { exit bad }
' "$src/LAYERS" $(find "$src" -name '*.[ch]' -o -name '*.inc' | sort)
