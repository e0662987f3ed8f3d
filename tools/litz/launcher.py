#!python
# The command `litz` of the installed wheel: finds the program beside liblitz.so without importing the package (which would
# import torch) and becomes it.
import importlib.util
import os
import sys

spec = importlib.util.find_spec("litz")
program = os.path.join(spec.submodule_search_locations[0], "bin", "litz")
os.execv(program, [program, *sys.argv[1:]])
