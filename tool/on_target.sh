#!/bin/bash
# Runs a command as if this machine were a made-up one (test/targets): tool/on_target.sh NAME COMMAND...
# SEER_TARGET gets the file's facts, from which all choices follow. The instruction set stays this machine's: code runs.
# Without a command it prints the text.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
name=${1:?usage: tool/on_target.sh NAME [COMMAND...]}
shift
file=$root/test/targets/$name.target
[ -f "$file" ] || { echo "on_target.sh: there is no $file" >&2; exit 2; }
text=$(sed -E 's/^cpu /native /; s/ -(triple|cpu|features)=[^ ]*//g' "$file")
[ $# -gt 0 ] || { echo "$text"; exit 0; }
export SEER_TARGET=$text
exec "$@"
