#!/bin/bash
# A tuning whose tuner and whose workers are killed with SIGKILL at random moments: a short run of `make check-kill`.
# SEER_TEST: timeout=300
. "$(dirname "$0")/lib.sh"
python3 "$SOURCE/test/safety/kill9.py" --tuner 6 --workers 10
