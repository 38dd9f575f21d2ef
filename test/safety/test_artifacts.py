"""A few damaged weights.bin and plans; artifacts.py makes as many as one likes. SEER_TEST: timeout=300"""
import sys

import artifacts

sys.exit(artifacts.main(["--n", "40", "--seed", "7"]))
