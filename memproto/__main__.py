"""`python -m memproto`: the console script, where its folder is not on the path."""

import sys

from memproto.cli import main

if __name__ == "__main__":
    sys.exit(main())
