"""Makes the shelves of providers importable, behind the installed package and never before it."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]

# At the end of the path: `memproto` is to come from where it is installed, not from the checkout.
if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))
