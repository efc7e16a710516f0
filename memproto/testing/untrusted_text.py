"""
Texts of strangers: what a provider, a package, a report or a user's function says, made harmless.

A stranger's text is one for a terminal that obeys escape sequences, for a runner that takes lines
for commands, and for everybody who looks for the verdict at the beginning of a line. Printed
text passes here; Markdown, XML and HTML have escapes of their own beyond it.
"""

import re
from collections.abc import Callable

from memproto.errors import KitUsageError

#: Form of a command to GitHub Actions at the beginning of a line, spaces aside. A text that is
#: broken into lines later may have any of its words there.
_COMMAND = re.compile(r"(?<!\S)::(?=[A-Za-z])")

#: Form of a command to GitHub, Azure Pipelines and TeamCity wherever it stands in a line.
_ANYWHERE = re.compile(r"##(?=\[|vso\[|teamcity\[)")

#: A verdict line, as scripts look for it: only the kit begins a line so.
_VERDICT = re.compile(r"memproto [^\n]*? (?:·|\|) ")


def printable(text: str) -> str:
    """
    `text` with every character escaped that does not print; line ends stay.

    Escape sequences of terminals (C0 and C1), marks that turn the direction of writing, other
    ends of lines and what is not seen: none of them prints.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)


def lines(text: str) -> str:
    """A text of several lines: it prints, is no command to a runner, and begins no verdict line."""
    text = _COMMAND.sub(r"\\x3a:", printable(text))
    text = _ANYWHERE.sub(r"#\\x23", text)
    if "memproto" not in text:
        return text
    return "\n".join(f"  {line}" if _VERDICT.match(line) else line for line in text.split("\n"))


def one_line(text: str) -> str:
    """The same in one line, which it cannot end."""
    return lines(printable(text).replace("\n", "\\n"))


def told(error: KitUsageError, hide: Callable[[str], str]) -> str:
    """A usage error in two lines of the kit's own, without what `hide` takes out."""
    what, fault, fix = (one_line(hide(part)) for part in (error.what, error.fault, error.fix))
    return f"{what}: {fault}\n  fix: {fix}"
