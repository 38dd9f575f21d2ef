#!/bin/sh
# The C files that we wrote, one a line.
cd "$(dirname "$0")/.." && find src include test tool examples -type f \( -name '*.c' -o -name '*.h' \) 2>/dev/null | sort
