"""The journal of unconfirmed writes: whole entries, in order, each claimed by one."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from memproto.reference_providers.outbox import Outbox, OutboxFull


def _texts(outbox):
    found = []
    for entry in outbox.entries():
        if entry.claim():
            found.append(entry.content["text"])
            entry.release()
    return found


def _put(outbox, *texts):
    for text in texts:
        outbox.put({"text": text}).release()


def test_what_was_put_is_found_at_the_next_start_in_its_order(tmp_path):
    _put(Outbox(tmp_path / "outbox"), "one", "two", "half \ud800 a pair")
    later = Outbox(tmp_path / "outbox")
    _put(later, "four")
    assert _texts(later) == ["one", "two", "half \ud800 a pair", "four"]
    assert later.count() == 4


def test_an_entry_that_one_holds_no_other_takes(tmp_path):
    held = Outbox(tmp_path).put({"text": "held"})
    assert _texts(Outbox(tmp_path)) == []
    held.release()
    assert _texts(Outbox(tmp_path)) == ["held"]


def test_the_claim_of_a_killed_process_ends_with_it(tmp_path):
    program = (
        "import os, sys; from pathlib import Path\n"
        "from memproto.reference_providers.outbox import Outbox\n"
        "Outbox(Path(sys.argv[1])).put({'text': 'left'}); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-P", "-c", program, str(tmp_path)], check=False)
    assert _texts(Outbox(tmp_path)) == ["left"]


def test_what_is_done_is_gone_also_for_one_who_saw_it(tmp_path):
    outbox = Outbox(tmp_path)
    entry = outbox.put({"text": "sent"})
    seen = Outbox(tmp_path).entries()
    entry.done()
    assert not seen[0].claim()
    assert outbox.count() == 0
    assert list(tmp_path.iterdir()) == []


def test_what_is_refused_is_put_aside(tmp_path):
    outbox = Outbox(tmp_path)
    outbox.put({"text": "poison"}).refuse()
    _put(outbox, "next")
    assert _texts(outbox) == ["next"]
    aside = list((tmp_path / "refused").iterdir())
    assert [json.loads(path.read_text("utf-8")) for path in aside] == [{"text": "poison"}]


@pytest.mark.parametrize("damaged", [b"", b'{"text": "cu', b"[1]", b"\xff\xfe"])
def test_a_damaged_entry_is_put_aside_and_the_others_are_served(tmp_path, damaged):
    outbox = Outbox(tmp_path)
    _put(outbox, "before", "after")
    Path(tmp_path, outbox.entries()[0].name).write_bytes(damaged)
    assert _texts(outbox) == ["after"]
    assert len(list((tmp_path / "refused").iterdir())) == 1


def test_an_entry_that_cannot_be_read_now_stays_where_it_is(tmp_path, monkeypatch):
    outbox = Outbox(tmp_path)
    _put(outbox, "kept")
    with monkeypatch.context() as full:
        full.setattr(Path, "read_bytes", _too_many_open_files)
        assert _texts(outbox) == []
    assert _texts(outbox) == ["kept"]


def _too_many_open_files(path):
    raise OSError("too many open files")


def test_what_was_half_written_long_ago_is_no_entry_and_is_removed(tmp_path):
    left = tmp_path / "000000000001-x.part"
    left.write_bytes(b'{"te')
    fresh = tmp_path / "000000000002-y.part"
    fresh.write_bytes(b'{"te')
    os.utime(left, (0.0, 0.0))
    assert _texts(Outbox(tmp_path)) == []
    # Another process may be writing it.
    assert list(tmp_path.iterdir()) == [fresh]


def test_a_full_journal_takes_nothing_more(tmp_path):
    outbox = Outbox(tmp_path, most=2)
    _put(outbox, "one", "two")
    with pytest.raises(OutboxFull, match="holds 2 writes"):
        outbox.put({"text": "three"})
    assert _texts(outbox) == ["one", "two"]


def test_an_entry_that_cannot_be_written_leaves_nothing(tmp_path, monkeypatch):
    def full(file, data):
        raise OSError("no space left")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="no space"):
        Outbox(tmp_path).put({"text": "lost"})
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_is_not_there_holds_nothing(tmp_path):
    outbox = Outbox(tmp_path / "none")
    assert outbox.entries() == []
    assert outbox.count() == 0
    assert not (tmp_path / "none").exists()


def test_others_may_not_read_what_waits(tmp_path):
    _put(Outbox(tmp_path / "outbox"), "secret")
    modes = [path.stat().st_mode & 0o777 for path in (tmp_path / "outbox").iterdir()]
    assert modes == [0o600]
    assert (tmp_path / "outbox").stat().st_mode & 0o777 == 0o700
