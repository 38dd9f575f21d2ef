"""A few damaged records; test/safety/records.py makes as many as one likes. SEER_TEST: timeout=120"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "safety"))
sys.dont_write_bytecode = True
import records  # noqa: E402

sys.exit(records.main(["--lines", "25", "--databases", "10"]))
