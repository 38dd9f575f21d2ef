"""python -m familyseer: the program, in place of this process."""
import os
import sys

program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "familyseer")
os.execv(program, [program, *sys.argv[1:]])
