"""Files that users write and break: one message with file, line and repair for each."""

import pytest

from memproto.errors import InvalidSettings, UnreadableReport
from memproto.report import reading, waiving
from memproto.testing.settings import settings, waiver_entries, waivers
from tests.testing.settings.test_waivers import ENTRY, RULE, TODAY

WIDE = "is UTF-16, as `>` of an older PowerShell writes it"

#: The bytes of a file of TOML, its line and fault, and what is to be done.
BROKEN = {
    "UTF-16": ("a = 3\n".encode("utf-16"), 1, WIDE, "Set-Content -Encoding utf8"),
    "UTF-16 the other way": ("a = 3\n".encode("utf-16-be"), 1, "is no TOML", "correct the line"),
    "another code page": ("a = 3\n# é\n".encode("latin-1"), 2, "UTF-8: byte 9 is 0xe9", "save it"),
    "no text": (b"\x7fELF\x02\xff\xfe\x00", 1, "is no UTF-8: byte 6 is 0xff", "save it as UTF-8"),
    "a missing quote": (b"a = 3\nb = 'x\n", 2, "is no TOML", "correct the line"),
    "a key twice": (b"a = 3\n\na = 4\n", 3, "is no TOML: Cannot overwrite a value", "correct"),
    "a table twice": (b"[a]\r\nb = 1\r\n[a]\r\n", 3, "is no TOML", "correct the line"),
    "an end too early": (b"a = 3\nb = [1,\n", 2, "is no TOML", "correct the line"),
    "a merge": (b"<<<<<<< HEAD\na = 3\n", 1, "is no TOML", "correct the line"),
    "JSON": (b'{"a": 3}\n', 1, "is no TOML", "correct the line"),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN)
def test_broken_settings_are_refused_with_line_and_repair(tmp_path, case, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data, line, fault, fix = BROKEN[case]
    (tmp_path / "memproto.toml").write_bytes(data)
    with pytest.raises(InvalidSettings) as raised:
        settings.read("mine", tmp_path)
    assert raised.value.what == f"memproto.toml:{line}"
    assert fault in raised.value.fault
    assert fix in raised.value.fix


@pytest.mark.parametrize("case", BROKEN)
def test_broken_waivers_are_red_with_line_and_repair(tmp_path, case, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data, line, fault, fix = BROKEN[case]
    (tmp_path / "w.toml").write_bytes(data)
    entries = waiver_entries.from_file(tmp_path / "w.toml", "w.toml")
    [found] = waivers.book(entries, TODAY, side="provider").faults
    assert found.text.startswith(f"w.toml:{line}: ")
    assert fault in found.text
    assert fix in found.fix


@pytest.mark.parametrize("case", BROKEN)
def test_to_a_broken_file_no_waiver_is_added(tmp_path, case):
    data, line, fault, fix = BROKEN[case]
    path = tmp_path / "w.toml"
    path.write_bytes(data)
    entry = {
        "reason": "the index loses it",
        "issue": "#1",
        "owner": "mara",
        "expires": "2099-01-01",
    }
    with pytest.raises((InvalidSettings, UnreadableReport)) as raised:
        waiving.add(path, {RULE: entry}, TODAY)
    assert raised.value.what == f"{path}:{line}"
    assert fault in raised.value.fault
    assert fix in raised.value.fix
    assert path.read_bytes() == data


def test_settings_and_waivers_may_begin_with_the_mark_of_an_editor(tmp_path):
    text = ENTRY.lstrip().replace("\n", "\r\n")
    (tmp_path / "memproto.toml").write_bytes("waivers = 'w.toml'\r\n".encode("utf-8-sig"))
    (tmp_path / "w.toml").write_bytes(text.encode("utf-8-sig"))
    entries = settings.read("mine", tmp_path).waivers
    assert waivers.book(entries, TODAY, side="provider").valid[RULE].place.endswith("w.toml:1")
    (tmp_path / "memproto.toml").write_bytes("warn = 'm:f'".encode("utf-8-sig"))
    with pytest.raises(InvalidSettings, match=r"memproto\.toml:1: warn: is no key"):
        settings.read("mine", tmp_path)


@pytest.mark.parametrize("name", ["memproto.toml", "pyproject.toml"])
def test_a_tool_that_is_no_table_is_refused(tmp_path, name):
    (tmp_path / name).write_text("tool = 3  # [tool.memproto]\n", "utf-8")
    with pytest.raises(InvalidSettings, match=r":1: tool\.memproto: must be a table"):
        settings.read("mine", tmp_path)


def test_a_report_in_utf_16_is_refused_with_the_repair(tmp_path):
    path = tmp_path / "r.json"
    path.write_bytes("{}".encode("utf-16"))
    with pytest.raises(UnreadableReport, match=r"r\.json:1: is UTF-16, as `>` of an older"):
        reading.read(path)
