"""
Gates: what stands before the searches for spots in ASCII, until a text gets past one of them.

The searches take tens of milliseconds to build and compile, and most texts of a process never need
them. A gate is a short pattern that is written out. It fits wherever its search fits, for it is the
search with its tail cut off: the same runs, possessive as there, and then any of the characters
with which the tail may go on. So a text that no gate fits has no spot, and at the first place that
fits the search itself is compiled.
"""

import functools
import re

_CONTROLS = r"\x00-\x08\x0e-\x1f\x7f"
#: All that may stand between two letters of a word.
_GAP = r"[\x00-\x20\-_~\x7f]*+"
#: Escapes that some decoders read as white space, or as nothing; an r and an n may be an m.
SIMPLE = r"\\(?:[ntvfbaTVFBA]|N(?![{&%\\])|[rR](?![nN]))"
_MEMORY = rf"(?:[mM]{_GAP}[eE#&%+\\]|[rR]{_GAP}[nN#&%+\\])"
_LABEL = r"""[^\s\#&%\\"$'()*+,.=@^`]*+"""
_NAMES = "(?i:b[as]|ep|gl|l[abelost]|n[eloupv]|p[er]|s[ehms])"

_GATES = {
    "<": rf"(?:{SIMPLE}|[\x00-\x20+\-_~/!?\\\x7f])*+(?:{_MEMORY}|[#&%]|(?<=\\)[xXuU0-7N])"
    r"|[\x00-\x1f\x7f]*+\|",
    "[": rf"(?:{SIMPLE}|[\x00-\x20+\-_~\x7f])*+(?:[sS]{_GAP}[yY#&%+\\]|[#&%\\])",
    "#": rf"(?!\#)[\x00-\x20+\x7f]*+{_LABEL}(?:[\x00-\x20+\x7f]++(?:\\*+{_MEMORY}|[&%\\])|[&%\\])",
    "&": rf"(?:[\#&%\\{_CONTROLS}]|(?i:amp|{_NAMES})|[0-9a-zA-Z\#;]{{0,32}}+[&%\\{_CONTROLS}])",
    "%": rf"(?:[0-9a-fA-F]{{2}}|[uU][0-9a-fA-F]{{4}}|[0-9a-fA-F]?[&%\\]"
    rf"|[uU][0-9a-fA-F]{{0,3}}[&%\\]|[0-9a-fA-FuU]{{0,5}}+[{_CONTROLS}])",
    "\\": rf"[xXuU0-9nN&%\\{_CONTROLS}]",
}


@functools.cache
def gate(first: str) -> re.Pattern[str]:
    """The gate of the spots that a character begins."""
    return re.compile(rf"{re.escape(first)}(?:{_GATES[first]})")
