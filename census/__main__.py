"""`python -m census`; docs/census.md tells its commands."""

import sys

from census.commands import main

if __name__ == "__main__":
    sys.exit(main())
