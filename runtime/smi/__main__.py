"""`python -m runtime.smi`."""

import sys

from runtime.smi.command import main

if __name__ == "__main__":
    sys.exit(main())
