"""A few damaged ONNX files of each network; damaged.py makes as many as one likes. SEER_TEST: timeout=300 cost=30"""
import sys

import damaged

sys.exit(damaged.main(["--n", "162", "--compile", "0.05", "--jobs", "1"]))
