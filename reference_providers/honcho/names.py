"""
Ids that the server takes, and that are different where the names are.

The server's ids hold letters, digits, `_` and `-`. A name that is such an id stays as it is; any
other keeps what is readable of it, with a hash of the whole behind. A name that ends as such a hash
does gets one of its own, so that nobody can be called what another one's name becomes.
"""

import hashlib
import re
from collections.abc import Container

#: A name that is longer is cut, and gets a hash.
LONGEST = 100

_PLAIN = re.compile(r"[a-zA-Z0-9_-]{1,100}")
_HASHED = re.compile(r"(?:.*-)?[0-9a-f]{32}")
_SHOWN = 60


def safe(name: str, taken: Container[str] = ()) -> str:
    """The id for a name; one that is `taken` by something else gets a hash as well."""
    if _PLAIN.fullmatch(name) and not _HASHED.fullmatch(name) and name not in taken:
        return name
    return hashed(name, name)


def hashed(shown: str, whole: str) -> str:
    """An id that shows one text and is made unique by another."""
    readable = re.sub(r"[^a-zA-Z0-9_-]+", "-", shown[:_SHOWN]).strip("-")
    return f"{readable}-{digest(whole)}" if readable else digest(whole)


def digest(text: str) -> str:
    """Of any text, half surrogates included, 128 bits: nobody finds two with the same."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
