"""`python -m runtime.dashboard`."""

import sys

from runtime.dashboard.command import main

if __name__ == "__main__":
    sys.exit(main())
