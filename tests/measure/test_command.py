"""`memproto measure` as it is typed: its table, its files, its page, and its refusals."""

import json
import re

import pytest

from memproto import cli
from memproto.measure import document
from tests.kit_runs import ROOT

pytestmark = pytest.mark.once

SMALL = ("--repeats", "1", "--sizes", "20,40")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """One run of the command over two targets: its folder and its output."""
    folder = tmp_path_factory.mktemp("measured")
    words = ["measure", "sqlite", "builtin", *SMALL]
    files = {"--report": "m.json", "--html": "m.html", "--export": "harness"}
    words += [word for name, file in files.items() for word in (name, str(folder / file))]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        said = []
        patch.setattr("memproto.report.measured.command.tell", said.append)
        assert cli.main(words) == 0
    return folder, said[-1]


@pytest.fixture
def typed(monkeypatch, capsys):
    """A function that types the command: exit code, output, complaints."""
    monkeypatch.chdir(ROOT)

    def type_(*words):
        code = cli.main(["measure", *map(str, words)])
        return code, *capsys.readouterr()

    return type_


def read(file):
    return json.loads(file.read_text("utf-8"))


def test_the_document_fits_its_schema_and_its_fingerprint(run):
    jsonschema = pytest.importorskip("jsonschema")
    found = read(run[0] / "m.json")
    jsonschema.Draft202012Validator(document.schema()).validate(found)
    assert found["fingerprint"] == document.fingerprint(found)


def test_baselines_stand_first_and_targets_in_the_order_of_the_alphabet(run):
    rows = [(row["is_baseline"], row["target"]) for row in read(run[0] / "m.json")["rows"]]
    assert [is_baseline for is_baseline, _ in rows] == [True] * 4 + [False] * 2
    assert [target for _, target in rows[4:]] == ["builtin", "sqlite"]


def test_the_terminal_shows_each_memory_with_its_figures_and_reasons(run):
    text = run[1]
    (line,) = re.findall(r"^  sqlite +turns +.*", text, re.MULTILINE)
    assert len(re.findall(r"\d+ %", line)) >= 6
    assert re.search(r"^  whole history +- .* 100 % ", text, re.MULTILINE)
    assert re.search(r"^  sqlite +40 +\d.*s, \d.*s, \d.*s  ", text, re.MULTILINE)
    assert "builtin: left out, other: it does not declare" in text


def test_the_page_is_one_file_that_asks_the_network_for_nothing(run):
    page = (run[0] / "m.html").read_text("utf-8")
    assert "default-src &#39;none&#39;" in page
    assert not re.findall(r'(?:src|href)="(?!data:|#|index)', page)
    assert page.count("<polyline") >= 5
    assert "whole history" in page
    assert "Of unknown origin" not in page


def test_the_page_of_a_file_is_the_same_and_says_that_its_origin_is_unknown(run, tmp_path):
    assert cli.main(["html", str(run[0] / "m.json"), "-o", str(tmp_path / "page.html")]) == 0
    page = (tmp_path / "page.html").read_text("utf-8")
    origin = re.search(r'<section class="origin".*?</section>\n', page, re.DOTALL)
    assert page.replace(origin[0], "") == (run[0] / "m.html").read_text("utf-8")


def test_the_export_has_a_file_for_each_memory_beside_the_true_answers(run):
    folder = run[0] / "harness"
    names = sorted(path.name for path in folder.iterdir())
    assert names == [
        *("builtin.json", "last-turns.json", "nothing.json", "reference.json"),
        *("sqlite.json", "whole-history.json", "word-search-bm25.json"),
    ]
    reference = {entry["question_id"]: entry for entry in read(folder / "reference.json")}
    for entry in read(folder / "sqlite.json"):
        true = reference[entry["question_id"]]
        assert {**entry, "haystack_sessions": []} | {} != true
        same = ("question", "answer", "question_type", "question_date")
        assert [entry[key] for key in same] == [true[key] for key in same]
        ((message,),) = entry["haystack_sessions"]
        assert message["role"] == "user"
    kinds = {entry["question_type"] for entry in reference.values()}
    assert kinds == {
        *("single-session-user", "multi-session", "knowledge-update", "temporal-reasoning")
    }
    marked = [
        message
        for entry in reference.values()
        for session in entry["haystack_sessions"]
        for message in session
        if message.get("has_answer")
    ]
    assert marked
    for entry in reference.values():
        assert ("_abs" in entry["question_id"]) == (not entry["answer_session_ids"])


def test_a_measurement_does_not_differ_from_itself(run, typed):
    file = run[0] / "m.json"
    code, said, _ = typed("--compare", file, file)
    assert code == 0
    assert re.fullmatch(r"(\d+) of \1 figures differ by no more than chance\n", said)


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        ((), "has no target"),
        (("sqlite", "--repeats", "0"), "--repeats 0: is no whole number from 1 to 50"),
        (("sqlite", "--seed", "x"), "--seed x: is no whole number"),
        (("sqlite", "--sizes", "10,x"), "--sizes x: is no whole number"),
        (("sqlite", "--budget-s", "-1"), "--budget-s -1: is no whole number"),
        (("sqlite", "--sha256", "ab"), "--sha256: is of --longmemeval alone"),
        (("sqlite", "--longmemeval", "none.json"), "--longmemeval none.json: cannot be read"),
        (("sqlite", "--report", "none/m.json"), "none/m.json: lies in no directory"),
        (("nobody_has_it",), "nobody_has_it: "),
        (("--compare", "a.json", "b.json"), "a.json: cannot be read"),
    ],
)
def test_a_command_that_cannot_be_done_names_the_fault_and_the_fix(typed, words, fault):
    code, said, complaint = typed(*words)
    assert code == 4
    assert said == ""
    assert fault in complaint
    assert "  fix: " in complaint


def test_a_limit_of_calls_is_refused_before_anything_is_measured(tmp_path, typed, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "memproto.toml").write_text("max_hook_calls = 10\n")
    code, _, complaint = typed("sqlite", *SMALL)
    assert code == 4
    assert "memproto.toml:1: max_hook_calls: allows too few calls" in complaint
