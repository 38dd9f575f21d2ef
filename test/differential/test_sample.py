"""A sample of the differential test: 400 cases of operators and 60 random graphs, at all levels. SEER_TEST: timeout=1200 cost=50"""
import sys

sys.dont_write_bytecode = True
import run

if __name__ == "__main__":
    sys.argv[1:] = ["--cases", "400", "--graphs", "60", "--seed", "1"] + sys.argv[1:]
    run.main()
