"""Nothing reads the kit's English: code asks evidence for its fields."""

import ast
from pathlib import Path

import pytest

pytestmark = pytest.mark.once

ROOT = Path(__file__).parents[1]
MODULES = sorted(
    path
    for folder in ("memproto", "conformance", "reference_providers")
    for path in (ROOT / folder).rglob("*.py")
    if "templates" not in path.parts
)

#: The names under which the two sentences of a message stand, in results and in rows of a report.
SENTENCES = {"expected", "observed"}

#: Methods by which a text is searched or taken apart.
READING = {
    *("startswith", "endswith", "find", "rfind", "index", "rindex", "count", "partition"),
    *("rpartition", "removeprefix", "removesuffix", "splitlines"),
}
PATTERNS = {"match", "fullmatch", "search", "findall", "finditer", "sub"}


def is_sentence(node: ast.AST) -> bool:
    """True if an expression is one of the two sentences."""
    if isinstance(node, ast.Attribute):
        return node.attr in SENTENCES
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Constant) and node.slice.value in SENTENCES
    is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    return is_call and node.func.attr in SENTENCES and _is_wording(node.func.value)


def _is_wording(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == "wording"


def readers(tree: ast.AST) -> list[int]:
    """The lines at which code searches or compares a sentence."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            searched = any(map(is_sentence, [node.left, *node.comparators]))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            is_read = node.func.attr in READING and is_sentence(node.func.value)
            searched = is_read or (node.func.attr in PATTERNS and any(map(is_sentence, node.args)))
        else:
            continue
        if searched:
            found.append(node.lineno)
    return found


def wordy(tree: ast.AST) -> list[int]:
    """The lines at which a violation is raised with words in the place of evidence."""
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and _name(node.func) in {"violated", "Violation"}
        and (len(node.args) != 1 or isinstance(node.args[0], ast.Constant | ast.JoinedStr))
    ]


def _name(node: ast.AST) -> str:
    return getattr(node, "attr", getattr(node, "id", ""))


@pytest.mark.parametrize("look", [readers, wordy])
def test_no_module_reads_a_sentence_or_raises_one(look):
    found = {}
    for path in MODULES:
        if lines := look(ast.parse(path.read_text("utf-8"))):
            found[str(path.relative_to(ROOT))] = lines
    assert found == {}
    assert len(MODULES) > 200


@pytest.mark.parametrize(
    "source",
    [
        "'lost' in result.observed",
        "row['observed'] == 'none'",
        "result.expected.startswith('a')",
        "re.search('x', result.observed)",
        "_WITHIN.fullmatch(result.expected)",
        "'x' in wording.observed(found)",
    ],
)
def test_a_reader_is_found(source):
    assert readers(ast.parse(source)) == [1]


@pytest.mark.parametrize("source", ["run.violated('a', 'b')", "raise Violation(f'{a}')"])
def test_a_violation_in_words_is_found(source):
    assert wordy(ast.parse(source)) == [1]


@pytest.mark.parametrize(
    "source", ["say(result.observed)", "row['observed'] or '-'", "run.violated(Late(took_s=1.0))"]
)
def test_what_tells_a_sentence_is_no_reader(source):
    assert readers(ast.parse(source)) == wordy(ast.parse(source)) == []
