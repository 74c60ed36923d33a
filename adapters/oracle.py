"""Old name of the reference adapter."""

import os
import sys
import types
from importlib.machinery import SourceFileLoader

LANE = "reference"
ENVIRONMENT = ()
READS_TASK_FILE = True
OLD_NAME_OF = "reference"

if __name__ == "__main__":
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "reference.py")
    reference = types.ModuleType("reference")
    SourceFileLoader("reference", path).exec_module(reference)
    reference.main(sys.argv[1:])
