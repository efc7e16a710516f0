"""Sentences name the actor first: none begins with a clause of "What", "Where" or "Whether"."""

import ast
import io
import json
import re
import tokenize

import pytest

from tests.docs.documents import PAGES, name, prose
from tests.kit_runs import ROOT

#: Folders of Python; True if all their strings are held to it, beside comments and docstrings. The
#: other strings of tests are data: questions without a mark, and the words of providers.
FOLDERS = {
    **dict.fromkeys(("memproto", "conformance", "reference_providers"), True),
    **dict.fromkeys(("benchmarks", "census", "scripts", "examples"), True),
    "tests": False,
}

#: Logs of releases, and sentences as they were.
HISTORY = ("CHANGELOG.md", "spec/CHANGELOG.md", "docs/reworded.md")

#: The pages that are held to it.
TEXTS = [
    *(page for page in PAGES if name(page) not in HISTORY),
    *ROOT.glob("spec/*.md"),
    *sorted(ROOT.glob("docs/decisions/[0-9]*.md")),
]

#: Data, settings and scripts, of which the comments and the descriptions are held to it.
DATA = [
    *ROOT.glob("spec/v1/*.toml"),
    *(ROOT / name for name in ("action.yml", "pyproject.toml", "rooms.toml", "tox.ini")),
    *ROOT.glob("memproto/report/templates/*"),
    *ROOT.glob("reference_providers/*/*.toml"),
    *ROOT.glob("tests/wild/*.toml"),
    *ROOT.glob("census/**/*.toml"),
]

_WORDS = r"(?:What|Where|Who|Whom|Whose|Which|Whether)(?:ever)?\b"
_BEGINS = re.compile(
    rf"(?:\A|(?<=[.!?:] )|(?<=^[-|>] )|(?<= \| )|(?<=\*\*)|(?<=^\d\. ))(?={_WORDS})[^.?!\n]*.?",
    re.MULTILINE,
)
_MAY_HOLD = re.compile(rf"\b{_WORDS}")
_LINE = re.compile(r'^\s*(?:#:?|//|/?\*|- )?\s*(?:[\w-]+(?:: | = "))?(?P<text>[A-Z].*)$')


def turned(text):
    """The sentences that begin so; a question may."""
    found = (one[0] for one in _BEGINS.finditer(text))
    return [one for one in found if not one.endswith("?")]


def paragraphs(text):
    """The paragraphs of a text, each in one line; an item of a list is one of its own."""
    parts = re.split(r"\n\s*\n|\n(?=\s*[-*|>] )|\n(?=\s*\d\. )", text)
    return [" ".join(part.split()) for part in parts if part.strip()]


def comments(source):
    """The comments of a module, those in adjacent lines as one text."""
    found, last = [], -1
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        text, line = token.string.lstrip("#: "), token.start[0]
        if found and line == last + 1 and token.line.lstrip().startswith("#"):
            found[-1] += f"\n{text}"
        else:
            found.append(text)
        last = line
    return found


def docstrings(tree):
    """The docstrings of a module."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    found = (ast.get_docstring(node) for node in ast.walk(tree) if isinstance(node, kinds))
    return [text for text in found if text]


def strings(tree):
    """All strings of a module; the values in one are marks."""
    parts = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for part in node.values
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(
                one.value if isinstance(one, ast.Constant) else "_" for one in node.values
            )
        elif isinstance(node, ast.Constant) and id(node) not in parts:
            yield node.value if isinstance(node.value, str) else ""


def said(source, *, with_strings):
    """The comments and docstrings of a module, and its other strings if they are messages."""
    tree = ast.parse(source)
    texts = [*comments(source), *docstrings(tree), *(strings(tree) if with_strings else ())]
    return [part for text in texts for part in paragraphs(text)]


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_sentence_of_a_module_begins_so(folder):
    found = {}
    for path in sorted(ROOT.glob(f"{folder}/**/*.py")):
        source = path.read_text("utf-8")
        if _MAY_HOLD.search(source):
            texts = said(source, with_strings=FOLDERS[folder])
            found[name(path)] = sorted({one for text in texts for one in turned(text)})
    assert {path: lines for path, lines in found.items() if lines} == {}


def test_no_sentence_of_a_page_begins_so():
    found = {name(page): [one for line in lines_of(page) for one in turned(line)] for page in TEXTS}
    assert {page: lines for page, lines in found.items() if lines} == {}


def lines_of(page):
    """The lines of a page without its headings, and a quotation as plain text."""
    lines = (line.strip().removeprefix("> ") for line in prose(page).split("\n"))
    return [line for line in lines if not line.startswith("#")]


def test_no_sentence_of_data_or_settings_begins_so():
    found = {
        name(path): [
            one
            for line in path.read_text("utf-8").split("\n")
            if (match := _LINE.match(line))
            for one in turned(match["text"])
        ]
        for path in DATA
    }
    assert {path: lines for path, lines in found.items() if lines} == {}


def test_no_description_of_a_schema_begins_so():
    found = {
        name(path): [
            one for text in described(json.loads(path.read_text())) for one in turned(text)
        ]
        for path in ROOT.glob("spec/v1/schemas/*.json")
    }
    assert found
    assert {path: lines for path, lines in found.items() if lines} == {}


def described(value):
    """The descriptions in a schema."""
    if isinstance(value, dict) and isinstance(value.get("description"), str):
        yield value["description"]
    for part in value.values() if isinstance(value, dict) else value:
        if isinstance(part, dict | list):
            yield from described(part)


def test_a_sentence_that_begins_so_is_found_and_a_question_is_not():
    assert turned("What it holds is kept.") == ["What it holds is kept."]
    assert turned("It ends. Where it fails, nothing is.") == ["Where it fails, nothing is."]
    assert turned("- What is lost:") == ["What is lost:"]
    assert turned("name: Whether it is called.") == ["Whether it is called."]
    assert turned("What is it? Where is the boat?") == []
    assert turned("It says what it holds, where it fails.") == []


def test_a_sentence_is_found_in_each_place_of_a_module():
    source = '''"""It is kept.

What it holds
is a text.
"""
# It ends. Whose
# it is, nobody says.
LOST = f"Where {LOST} fails, " "nothing is."
'''
    found = [one for text in said(source, with_strings=True) for one in turned(text)]
    assert found == [
        "Whose it is, nobody says.",
        "What it holds is a text.",
        "What it holds is a text.",
        "Where _ fails, nothing is.",
    ]
