"""Words of commands that a reader runs: a shell reads each as it was, and a report can hold it."""

import os
import subprocess

import pytest

from memproto import shell

WORDS = {
    "plain": "--memproto=mine",
    "letters": "Jürgen 漢字",
    "quotes": "a'b\"c\\",
    "an odd byte": os.fsdecode(b"J\xfcrgen"),
    "an odd byte before digits": os.fsdecode(b"\xfcab\xff0"),
    "odd bytes and quotes": os.fsdecode(b"it's \xe4 \\x41 $HOME `id` \""),
    "a line end": "new\nline\t\x1b[1m",
    "a mark that is not seen": "a\u200bb\u202e",
    "nothing": "",
}


@pytest.mark.parametrize("word", WORDS.values(), ids=WORDS)
def test_bash_and_the_kit_read_a_word_as_it_was(word):
    said = shell.join(["printf", "%s\\0", word, "end"])
    assert said.isprintable()
    heard = subprocess.run(["bash", "-c", said], capture_output=True, check=True).stdout
    assert [os.fsdecode(part) for part in heard.split(b"\0")[:-1]] == [word, "end"]
    assert shell.split(said) == ["printf", "%s\\0", word, "end"]


@pytest.mark.parametrize("name", ["plain", "letters", "quotes", "nothing"])
def test_a_word_that_prints_is_quoted_as_ever(name):
    assert "$'" not in shell.quote(WORDS[name])


@pytest.mark.parametrize(
    "command", ["pytest $'a", "pytest $'\\xfc'x", "pytest $'\\x41'", "a $'b c'"]
)
def test_a_command_of_another_form_is_not_taken_for_one_of_the_kits(command):
    try:
        words = shell.split(command)
    except ValueError:
        return
    assert shell.join(words) != command
