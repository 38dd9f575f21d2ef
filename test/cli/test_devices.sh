#!/bin/bash
# Devices that die, hang, answer nonsense or are slow, at random moments: a short run of `make check-kill`.
# SEER_TEST: timeout=600 cost=60
. "$(dirname "$0")/lib.sh"
python3 "$SOURCE/test/safety/devices.py" --each 1
