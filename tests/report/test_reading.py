"""The reader of reports: what it gives, and the one message for each file that it refuses."""

import copy
import json
from pathlib import Path

import pytest

from memproto.errors import UnreadableReport
from memproto.report import reading
from memproto.report.formats import positions

EXAMPLES = Path(__file__).parents[2] / "spec/v1/examples/valid/report"


def example() -> dict:
    return json.loads((EXAMPLES / "one-failure.json").read_text(encoding="utf-8"))


def refused(path: Path) -> str:
    with pytest.raises(UnreadableReport) as caught:
        reading.read(path)
    return str(caught.value)


def written(tmp_path: Path, document: object) -> Path:
    path = tmp_path / "report.json"
    path.write_text(json.dumps(document, indent=2), encoding="utf-8")
    return path


@pytest.mark.parametrize("path", sorted(EXAMPLES.iterdir()), ids=lambda path: path.stem)
def test_each_valid_example_is_read_as_it_is(path: Path) -> None:
    assert reading.read(path) == json.loads(path.read_text(encoding="utf-8"))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    said = refused(tmp_path / "no.json")
    assert "no.json: cannot be read (No such file or directory)\n  fix: name a file" in said


def test_a_directory_is_refused(tmp_path: Path) -> None:
    assert "cannot be read (Is a directory)" in refused(tmp_path)


def test_an_empty_file_is_that_of_a_run_that_did_not_end(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_bytes(b"")
    assert "is empty: the run that was to write it did not come to its end" in refused(path)


def test_a_report_that_was_cut_off_is_refused_with_its_last_line(tmp_path: Path) -> None:
    path = written(tmp_path, example())
    kept = path.read_text(encoding="utf-8")[:600].rstrip()
    path.write_text(kept, encoding="utf-8")
    said = refused(path)
    assert f"report.json:{kept.count(chr(10)) + 1}: is no JSON" in said
    assert "fix: the file ends too early; write it again with pytest" in said


def test_bytes_that_are_no_utf8_are_named_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_bytes(b'{\n"format": 1,\n"x": "\xff"}')
    assert "report.json:3: is no UTF-8: byte 22 is 0xff\n  fix: save it" in refused(path)


@pytest.mark.parametrize("text", ["NaN", '{"format": Infinity}'])
def test_numbers_that_json_does_not_have_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "report.json"
    path.write_text(text, encoding="utf-8")
    assert "is no number of JSON" in refused(path)


def test_a_text_that_is_nested_without_end_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text("[" * 100_000, encoding="utf-8")
    assert "report.json: is no JSON that can be read" in refused(path)


@pytest.mark.parametrize("foreign", [[], 1, None, {"tests": []}, {"format": 1}])
def test_json_of_another_program_is_no_report(tmp_path: Path, foreign: object) -> None:
    said = refused(written(tmp_path, foreign))
    assert "is JSON, and no report of memproto\n  fix: name a file that --memproto-report" in said


def test_a_measurement_is_named_as_one(tmp_path: Path) -> None:
    said = refused(written(tmp_path, {"format": 1, "measure": {}}))
    assert "report.json: is a measurement, and no report of a run\n  fix: memproto html" in said


def test_a_newer_format_asks_for_a_newer_kit(tmp_path: Path) -> None:
    said = refused(written(tmp_path, {**example(), "format": 2}))
    assert "report.json:2: has format 2; this kit reads format 1" in said
    assert "pip install --upgrade" in said


def test_what_the_schema_refuses_is_named_with_line_and_place(tmp_path: Path) -> None:
    document = example()
    document["reports"][0]["results"][0]["outcome"] = "fine"
    path = written(tmp_path, document)
    line = path.read_text(encoding="utf-8").splitlines().index('          "outcome": "fine",') + 1
    said = refused(path)
    assert f"report.json:{line}: $.reports[0].results[0].outcome 'fine' is not one of" in said
    assert "fix: a report is not edited by hand" in said


def test_a_report_of_another_kit_that_does_not_fit_names_that_kit(tmp_path: Path) -> None:
    document = copy.deepcopy(example())
    document["reports"][0] |= {"kit": "7.1", "mood": "good"}
    assert "it was written by kit 7.1, and this is" in refused(written(tmp_path, document))


def test_a_long_value_does_not_fill_the_message(tmp_path: Path) -> None:
    document = example()
    document["reports"][0]["results"] = {"all": "x" * 10_000}
    assert len(refused(written(tmp_path, document))) < 500


def test_text_with_half_surrogates_is_read_back(tmp_path: Path) -> None:
    document = example()
    document["reports"][0]["results"][0]["observed"] = "\udc80"
    read = reading.read(written(tmp_path, document))
    assert read["reports"][0]["results"][0]["observed"] == "\udc80"


def test_the_line_of_a_value_is_found_behind_texts_that_look_like_keys() -> None:
    text = '{"a": "\\"b\\": 1",\n "b": [{"c": [1, 2]},\n {"c":\n 7}],\n "b2": 0}'
    assert positions.line_of(text, ("b", 1, "c")) == 4
    assert positions.line_of(text, ("b", 0, "c")) == 2
    assert positions.line_of(text, ("b2",)) == 5


def test_a_path_that_leads_nowhere_gives_the_line_that_it_leads_to() -> None:
    assert positions.line_of('{\n"a": [\n]}', ("a", 3)) == 2
