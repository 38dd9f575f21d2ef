"""A few damaged records; records.py makes as many as one likes. SEER_TEST: timeout=120"""
import sys

import records

sys.exit(records.main(["--lines", "25", "--databases", "10"]))
