"""Hosts whose fence is broken: the reference fence with one function changed."""

import html
import re

import memproto
from memproto import fence
from memproto.errors import InvalidLabel
from memproto.registry import MemoryProviderRegistry
from tests.broken.marks import mutant


class Fence:
    """A fence made of small steps; a broken one changes one of them."""

    StreamingContextScrubber = memproto.StreamingContextScrubber

    def sanitize_context(self, text):
        return fence.sanitize_context(text)

    def cleaned(self, text):
        """What stands in the block."""
        return fence.sanitize_context(text)

    def labeled(self, label):
        fence.build_memory_context_block([(label, "x")])
        return label

    def sections(self, contexts):
        clean = [(self.labeled(label), self.cleaned(text).strip()) for label, text in contexts]
        if len({label for label, _ in clean}) < len(clean):
            raise InvalidLabel("a label stands twice")
        return [(label, text) for label, text in clean if text]

    def build_memory_context_block(self, contexts):
        body = "\n".join(f"### {label} memory\n{text}" for label, text in self.sections(contexts))
        return self.framed(body) if body else ""

    def framed(self, body):
        return f"{fence.OPEN_TAG}\n{fence.NOTE}\n{body}\n{fence.CLOSE_TAG}"

    def inject_memory_context(self, content, contexts):
        block = self.build_memory_context_block(contexts)
        if not block:
            return content
        if isinstance(content, list):
            return [*content, {"type": "text", "text": block}]
        return fence.inject_memory_context(content, contexts) and self.followed(content, block)

    def followed(self, content, block):
        return f"{content}\n\n{block}" if content else block

    def parse_memory_context(self, text):
        return fence.parse_memory_context(text)


class _SinglePass(Fence):
    def cleaned(self, text):
        return re.sub(r"(?i)</?memory-context>|\[System note", "", text)


@mutant(kills="MP-HOST-FENCE-001", says="closing tags", report="F3")
class DeletesTagsOnce(MemoryProviderRegistry):
    fence = _SinglePass()


class _TagsOnly(Fence):
    def cleaned(self, text):
        marked = re.sub(r"(?m)^(\s*)### (.+ memory\s*)$", r"\1=== \2", text)
        return re.sub(r"=== (.+ memory)", r"### \1", fence.sanitize_context(marked))


@mutant(kills="MP-HOST-FENCE-001", says="headings", report="F3")
class LeavesHeadings(MemoryProviderRegistry):
    fence = _TagsOnly()


class _AlwaysABlock(Fence):
    def build_memory_context_block(self, contexts):
        return super().build_memory_context_block(contexts) or self.framed("")


@mutant(kills="MP-HOST-FENCE-002", says="<memory-context>", report="F7")
class AddsAnEmptyBlock(MemoryProviderRegistry):
    fence = _AlwaysABlock()


class _NoRepeats(Fence):
    def sections(self, contexts):
        seen = set()
        kept = []
        for label, text in super().sections(contexts):
            fresh = [line for line in text.split("\n") if line not in seen]
            seen.update(fresh)
            kept.append((label, "\n".join(fresh) or "(as above)"))
        return kept


@mutant(kills="MP-HOST-FENCE-003", says="beside", report="F3")
class DropsLinesThatAnotherSaid(MemoryProviderRegistry):
    fence = _NoRepeats()


class _Flat(Fence):
    def inject_memory_context(self, content, contexts):
        if isinstance(content, list) and self.build_memory_context_block(contexts):
            content = "\n".join(part.get("text", "") for part in content)
        return super().inject_memory_context(content, contexts)


@mutant(kills="MP-HOST-FENCE-004", says="What is this?", report="J1")
class FlattensTheParts(MemoryProviderRegistry):
    fence = _Flat()


class _Escaping(Fence):
    def cleaned(self, text):
        return html.escape(fence.sanitize_context(text), quote=False)


@mutant(kills="MP-HOST-FENCE-005", says="&lt;", report="F1")
class EscapesEverything(MemoryProviderRegistry):
    fence = _Escaping()


class _Joined(Fence):
    def sections(self, contexts):
        clean = super().sections(contexts)
        before = ""
        for place, (label, text) in enumerate(clean):
            joined = fence.sanitize_context(f"{before}\n{text}")[len(before) + 1 :]
            clean[place] = (label, joined or text)
            before = dict(contexts)[label].strip()
        return clean


@mutant(kills="MP-HOST-FENCE-003", says="beside", report="F3")
class SanitizesTheJoinedText(MemoryProviderRegistry):
    fence = _Joined()


class _Repairing(Fence):
    def labeled(self, label):
        return re.sub(r"[^a-z0-9]+", "-", str(label).lower()).strip("-")[:64] or "unnamed"


@mutant(kills="MP-HOST-FENCE-015", says="a block was built", report="F3")
class RepairsLabels(MemoryProviderRegistry):
    fence = _Repairing()


class _InParts(Fence):
    def cleaned(self, text):
        parts = text if isinstance(text, list) else [text]
        return "".join(map(fence.sanitize_context, parts))


@mutant(kills="MP-HOST-FENCE-016", says="closing tags", report="F3")
class SanitizesPartByPart(MemoryProviderRegistry):
    fence = _InParts()


class _FirstLines(Fence):
    def parse_memory_context(self, text):
        sections = fence.parse_memory_context(text)
        return [(label, text.partition("\n\n")[0]) for label, text in sections]


@mutant(kills="MP-HOST-FENCE-021", says="out of the block", report="F2")
class ReadsOneParagraphOfEach(MemoryProviderRegistry):
    fence = _FirstLines()
