"""The builtin provider against a model of it: a list of texts per target."""

import json
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from memproto.errors import ProviderError
from memproto.reference_providers.builtin import BuiltinMemoryProvider

LIMITS = {"memory": 40, "user": 25}
FILES = {"memory": "MEMORY.md", "user": "USER.md"}
TARGETS = st.sampled_from(sorted(LIMITS))
PIECES = st.sampled_from(["a", "b", "ab", "§", "\n", " ", "\\u{61}", "\0", "\ud800", "é"])
TEXTS = st.lists(PIECES, max_size=12).map("".join)
BY_HAND = st.lists(st.sampled_from(["a", "b", "ab", "c d"]), min_size=1, max_size=3)


class FilesBehaveAsLists(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.home = Path(tempfile.mkdtemp())
        self.model = {target: [] for target in LIMITS}
        self.snapshot = None
        self.open()

    def teardown(self):
        shutil.rmtree(self.home)

    @rule()
    def open(self):
        self.provider = BuiltinMemoryProvider()
        config = {"home": str(self.home), "memory_char_limit": 40, "user_char_limit": 25}
        self.provider.initialize("s", config)
        self.snapshot = self.provider.system_prompt_block()

    @rule(where=TARGETS, text=TEXTS)
    def add(self, where, text):
        texts = self.model[where]
        known = text in texts
        self.attempt(where, [*texts, text], bool(text.strip()), ("add", where, text), known=known)

    @rule(where=TARGETS, snippet=TEXTS, text=TEXTS)
    def replace(self, where, snippet, text):
        old = self.named(where, snippet)
        texts = [text if kept == old else kept for kept in self.model[where]]
        if text in texts:
            place = texts.index(text)
            texts = [kept for i, kept in enumerate(texts) if kept != text or i == place]
        valid = bool(text.strip()) and old is not None and len(text) <= LIMITS[where]
        self.attempt(where, texts, valid, ("replace", where, text, snippet))

    @rule(where=TARGETS, snippet=TEXTS)
    def remove(self, where, snippet):
        old = self.named(where, snippet)
        texts = [kept for kept in self.model[where] if kept != old]
        self.attempt(where, texts, old is not None, ("remove", where, None, snippet))

    @rule(where=TARGETS, lines=BY_HAND)
    def edit_by_hand(self, where, lines):
        with (self.home / FILES[where]).open("a", encoding="utf-8") as file:
            file.writelines(f"\n§\n{line}\n" for line in lines)
        self.model[where] += lines

    @invariant()
    def what_is_stored_is_what_the_model_holds(self):
        stores = self.provider._session.stores
        held = {name: [entry.content for entry in store.read()] for name, store in stores.items()}
        assert held == self.model

    @invariant()
    def the_header_counts_what_is_shown(self):
        for target, texts in self.model.items():
            answer = self.provider.handle_tool_call("memory", {"action": "read", "target": target})
            used = len("\n§\n".join(texts))
            assert f" {used}/{LIMITS[target]} chars" in json.loads(answer)["usage"]

    @invariant()
    def the_snapshot_stands(self):
        assert self.provider.system_prompt_block() == self.snapshot

    def attempt(self, target, texts, valid, arguments, *, known=False):
        before = len("\n§\n".join(self.model[target]))
        after = len("\n§\n".join(texts))
        if valid and (known or after <= max(before, LIMITS[target])):
            self.provider.on_memory_write(*arguments)
            self.model[target] = self.model[target] if known else texts
            return
        with pytest.raises(ProviderError):
            self.provider.on_memory_write(*arguments)

    def named(self, target, snippet):
        different = {text for text in self.model[target] if snippet and snippet in text}
        if snippet in different:
            return snippet
        return different.pop() if len(different) == 1 else None


FilesBehaveAsLists.TestCase.settings = settings(
    max_examples=40, stateful_step_count=25, deadline=None
)
TestFilesBehaveAsLists = FilesBehaveAsLists.TestCase
