"""Sentences name the actor first: none begins with a clause of "What" or "Where"."""

import re
import tokenize

from tests.docs.documents import PAGES, name, prose
from tests.kit_runs import ROOT

#: Python whose comments, docstrings and messages are held to it.
CODE = sorted([*ROOT.glob("memproto/*.py"), *ROOT.glob("memproto/registry/*.py")])

#: Pages that are held to it: the specification has rules of its own, and one page is generated.
TEXTS = [
    *(page for page in PAGES if not name(page).startswith(("spec/", "CHANGELOG"))),
    *sorted(ROOT.glob("docs/decisions/[0-9]*.md")),
]

_BEGINS = re.compile(
    r"(?:\A|(?<=[.!?:] )|(?<=^[-|>] )|(?<=\*\*))(?:What|Where|Whoever|Whose)\b[^.?!\n]*.?"
)


def turned(text):
    """The sentences that begin so; a question may."""
    return [found[0] for found in _BEGINS.finditer(text) if not found[0].endswith("?")]


def said(path):
    """The comments and strings of a module, each without its marks."""
    lines = []
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type == tokenize.COMMENT:
                lines.append(token.string.lstrip("#: "))
            elif token.type == tokenize.STRING:
                text = token.string.strip("rbfu").strip("\"'")
                lines += [line.strip() for line in text.split("\n")]
    return lines


def test_no_sentence_of_a_module_begins_so():
    found = {name(path): [one for line in said(path) for one in turned(line)] for path in CODE}
    assert {path: lines for path, lines in found.items() if lines} == {}


def test_no_sentence_of_a_page_begins_so():
    found = {
        name(page): [one for line in paragraphs(page) for one in turned(line)] for page in TEXTS
    }
    assert {page: lines for page, lines in found.items() if lines} == {}


def paragraphs(page):
    """The lines of a page without its headings."""
    return [line.strip() for line in prose(page).split("\n") if not line.startswith("#")]


def test_a_sentence_that_begins_so_is_found_and_a_question_is_not():
    assert turned("What it holds is kept.") == ["What it holds is kept."]
    assert turned("It ends. Where it fails, nothing is.") == ["Where it fails, nothing is."]
    assert turned("- What is lost:") == ["What is lost:"]
    assert turned("What is it? Where is the boat?") == []
    assert turned("It says what it holds, where it fails.") == []
