"""The pages of the documentation, and what stands in them: links, anchors, code, commands."""

import re
from pathlib import Path

from tests.kit_runs import ROOT

#: Every page that a reader is led to.
PAGES = sorted(
    [
        *ROOT.glob("docs/*.md"),
        ROOT / "docs/decisions/index.md",
        *ROOT.glob("spec/v1/*.md"),
        *(ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")),
        *(ROOT / name for name in ("SECURITY.md", "CHANGELOG.md", "spec/CHANGELOG.md")),
    ]
)

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"^````\w*\n.*?^````$", re.MULTILINE | re.DOTALL)  # a file that is shown whole
LINK = re.compile(r"\]\(([^)\s]+)\)")
_INLINE = re.compile(r"`[^`\n]+`")
_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)


def name(page: Path) -> str:
    """A page as its project calls it."""
    return page.relative_to(ROOT).as_posix()


def prose(page: Path) -> str:
    """The text without its code."""
    return _INLINE.sub("`", BLOCK.sub("", _FILE.sub("", page.read_text("utf-8"))))


def links(page: Path) -> list[str]:
    """Targets of its links."""
    return LINK.findall(prose(page))


def anchors(page: Path) -> set[str]:
    """Names that can stand behind a # in a link to the page."""
    text = BLOCK.sub("", page.read_text("utf-8"))
    slugs = {_slug(heading) for heading in _HEADING.findall(text)}
    return slugs | set(re.findall(r'<a id="([^"]+)"></a>', text))


def _slug(heading: str) -> str:
    plain = re.sub(r"[^\w\- ]", "", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading.lower()))
    return plain.strip().replace(" ", "-")


def blocks(page: Path, *languages: str) -> list[str]:
    """The code blocks in one of these languages."""
    found = BLOCK.findall(page.read_text("utf-8"))
    return [text for language, text in found if language in languages]


def commands(page: Path) -> list[str]:
    """The command lines of a page, without prompts, output and comments."""
    found = []
    for block in blocks(page, "console", "sh", "bash"):
        lines = block.replace("\\\n", " ").splitlines()
        prompted = [line[2:] for line in lines if line.startswith("$ ")]
        found += prompted or [line for line in lines if line.strip() and line[0] != "#"]
    return [re.sub(r"\s+#.*", "", line).strip() for line in found]
