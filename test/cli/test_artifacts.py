"""A few damaged weights.bin and plans; test/safety/artifacts.py makes as many as one likes. SEER_TEST: timeout=300"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "safety"))
sys.dont_write_bytecode = True
import artifacts  # noqa: E402

sys.exit(artifacts.main(["--n", "40", "--seed", "7"]))
