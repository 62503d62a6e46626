"""`python -m rushlight`: the command line."""

import sys

from rushlight.cli.main import main  # of the package it is a module once somebody has imported that

if __name__ == "__main__":
    sys.exit(main())
