#!/bin/bash
# make demo: tune MobileNetV2, check the answer, say what was gained.
set -euo pipefail
cd "$(dirname "$0")/.."
for command in tune compile bench verify; do
  if ! build/familyseer list commands | grep -q "^$command "; then
    echo "make demo: this build has no '$command' command" >&2
    exit 1
  fi
done
build/familyseer tune mobilenet_v2 --preset quick -o out/mobilenet_v2
build/familyseer verify out/mobilenet_v2/model.so mobilenet_v2
build/familyseer bench out/mobilenet_v2/model.so
