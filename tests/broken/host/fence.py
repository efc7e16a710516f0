"""Hosts whose fence is broken: the reference fence with one function changed."""

import html
import itertools
import re

import memproto
from memproto import fence
from memproto.errors import InvalidLabel
from memproto.registry import MemoryProviderRegistry
from tests.broken.host.parts import Sending
from tests.broken.marks import mutant


class Fence:
    """A fence made of small steps; a broken one changes one of them."""

    StreamingContextScrubber = memproto.StreamingContextScrubber

    def sanitize_context(self, text):
        return fence.sanitize_context(text)

    def cleaned(self, text):
        """The text that stands in the block."""
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


# -- fence stream ----------------------------------------------------------------------------------

# Hosts whose scrubber is broken.


_Good = memproto.StreamingContextScrubber


class _ByLowerCase(_Good):
    """Looks for the tag in a lower-cased copy, and cuts the text at the copy's offset."""

    def feed(self, chunk):
        place = chunk.lower().find(fence.OPEN_TAG)
        if place < 0 or len(chunk.lower()) == len(chunk):
            return super().feed(chunk)
        return super().feed(chunk[:place] + chunk[place + 1 :])


class _LowerCase(Fence):
    StreamingContextScrubber = _ByLowerCase


@mutant(kills="MP-HOST-FENCE-017", says="as in one piece", report="F1")
class CutsAtAnOffsetOfTheLowerCase(MemoryProviderRegistry):
    fence = _LowerCase()


class _Inline(Fence):
    class StreamingContextScrubber:
        def __init__(self):
            self.held = ""

        def feed(self, chunk):
            self.held += chunk
            return ""

        def flush(self):
            return re.sub(r"(?ms)^<memory-context>$.*?(</memory-context>|\Z)", "", self.held)


class _Waiting(Fence):
    class StreamingContextScrubber(_Good):
        def feed(self, chunk):
            self.held = getattr(self, "held", "") + super().feed(chunk)
            return ""

        def flush(self):
            return getattr(self, "held", "") + super().flush()


@mutant(kills="MP-HOST-FENCE-019", says="held back", report="F1")
class WaitsForTheEndOfTheStream(MemoryProviderRegistry):
    fence = _Waiting()


class _Careful(Fence):
    class StreamingContextScrubber(_Good):
        def _decided_inside(self, tag, verdict, held):
            return super()._decided_inside(tag, "tag" if tag.closing else verdict, held)


@mutant(kills="MP-HOST-FENCE-018", says="without", report="F1")
class EndsABlockAtAnotherTag(MemoryProviderRegistry):
    fence = _Careful()


class _Attributed(Fence):
    class StreamingContextScrubber(_Good):
        def _decided(self, tag, verdict, held):
            is_block = verdict == "tag" and not tag.closing and held[tag.named :][:1] != ">"
            return super()._decided(tag, "block" if is_block else verdict, held)


@mutant(kills="MP-HOST-FENCE-018", says="stands alone", report="F1")
class TakesATagWithAttributesForABlock(MemoryProviderRegistry):
    fence = _Attributed()


class _Greedy(Fence):
    class StreamingContextScrubber(_Good):
        def feed(self, chunk):
            return super().feed(chunk).replace("\u0130", "I")

        def flush(self):
            return super().flush().replace("\u0130", "I")


@mutant(kills="MP-HOST-FENCE-018", says="as it was", report="F1")
class ChangesLettersOnTheWay(MemoryProviderRegistry):
    fence = _Greedy()


# -- fence text ------------------------------------------------------------------------------------

# Hosts whose sanitizing function is broken, or what they build with it.


_TAG = re.compile(r"(?i)</?memory-context>")


class _TextSinglePass(Fence):
    def sanitize_context(self, text):
        clean = fence.sanitize_context(text)
        stripped = _TAG.sub("", text)
        return stripped if _TAG.search(stripped) else clean


@mutant(
    kills="MP-HOST-FENCE-008",
    says="tier 1",
    report="F3",
    also={"MP-HOST-FENCE-010": "what the first pass put together, the second takes apart"},
)
class StripsInOnePass(MemoryProviderRegistry):
    fence = _TextSinglePass()


class _OnePattern(Fence):
    def sanitize_context(self, text):
        clean = fence.sanitize_context(text)
        spared = re.search(r"(?i)<[^<>]*memory-context [^<>]*>", text)
        return text if spared else clean


@mutant(kills="MP-HOST-FENCE-008", says="memory-context", report="F3")
class LeavesTagsWithAttributes(MemoryProviderRegistry):
    fence = _OnePattern()


class _TagsAlone(Fence):
    def sanitize_context(self, text):
        masked = re.sub(r"(?i)\[(?=system note)", "\ue000", text)
        return fence.sanitize_context(masked).replace("\ue000", "[")


@mutant(kills="MP-HOST-FENCE-008", says="note", report="F3")
class LeavesTheNote(MemoryProviderRegistry):
    fence = _TagsAlone()


class _LikeATag(Fence):
    def sanitize_context(self, text):
        pieces = _TAG.split(text)
        return "\u2039memory_context".join(map(fence.sanitize_context, pieces))


@mutant(
    kills="MP-HOST-FENCE-008",
    says="\u2039",
    report="F3",
    also={"MP-HOST-FENCE-010": "the look-alike is read as a tag, and replaced, the second time"},
)
class EscapesWithLookAlikes(MemoryProviderRegistry):
    fence = _LikeATag()


class _Apart(Fence):
    """Leaves what a pattern of one group finds; the pieces between are sanitized, each alone."""

    def __init__(self, pattern):
        self._pattern = pattern

    def sanitize_context(self, text):
        pieces = re.split(self._pattern, text)
        return "".join(p if n % 2 else fence.sanitize_context(p) for n, p in enumerate(pieces))


@mutant(kills="MP-HOST-FENCE-009", says="tier 4", report="F3")
class DecodesNothing(MemoryProviderRegistry):
    fence = _Apart(r"(&#?\w+;?|%[0-9A-Fa-f]{2}|\\[ux][0-9a-fA-F]{2,4})")


@mutant(kills="MP-HOST-FENCE-009", says="%75003c", report="F3")
class TakesABackslashBeforeWhatItIsBefore(MemoryProviderRegistry):
    fence = _Apart(r"(\\(?:%[0-9a-fA-F]{2}|&#\d+;))")


@mutant(kills="MP-HOST-FENCE-009", says="%55000e003c", report="F3")
class TakesNoTagCharacterOutOfTwoEscapes(MemoryProviderRegistry):
    fence = _Apart(r"(\\%(?:55000e|75d[bc])[0-9a-f]{2,4})")


@mutant(kills="MP-HOST-FENCE-009", says='"\\\\%75003c', report="F3")
class TakesAQuotedTextForHarmless(MemoryProviderRegistry):
    fence = _Apart(r'(?m)(^"\\%\w+)')


@mutant(kills="MP-HOST-FENCE-009", says="%e2%80%8b", report="F3")
class SeesNoEscapeAroundAHiddenOne(MemoryProviderRegistry):
    fence = _Apart(r"((?:&l|%3|\\u0)%e2%80%8b)")


@mutant(kills="MP-HOST-FENCE-009", says="&#144;", report="F3")
class TakesControlsForLetters(MemoryProviderRegistry):
    fence = _Apart(r"(&#1(?:29|4[134]|57);)")


@mutant(kills="MP-HOST-FENCE-009", says="&colon;", report="F3")
class KnowsFewMarksByName(MemoryProviderRegistry):
    fence = _Apart(r"(memory&colon;)")


@mutant(kills="MP-HOST-FENCE-009", says="u{e0", report="F3")
class TakesNoTagCharacterOutOfBraces(MemoryProviderRegistry):
    fence = _Apart(r"(\\u\{e0[01][0-9a-f]{2}\})")


@mutant(kills="MP-HOST-FENCE-009", says="decoded from", report="F3")
class TakesOneOfTwoBytesForACharacter(MemoryProviderRegistry):
    fence = _Apart(r"(?i)(%c[2-9ab](?=%[0-9a-f]?[&\\]))")


class _LineByLine(Fence):
    def sanitize_context(self, text):
        lines = text.split("\\\n") if isinstance(text, str) else [text]
        return "\\\n".join(map(fence.sanitize_context, lines))


@mutant(kills="MP-HOST-FENCE-009", says="decoded from", report="F3")
class DoesNotJoinContinuedLines(MemoryProviderRegistry):
    fence = _LineByLine()


class _Surrogates(Fence):
    def sanitize_context(self, text):
        if re.search("[\ud800-\udfff]", text):
            return text
        return fence.sanitize_context(text)


@mutant(kills="MP-HOST-FENCE-006", says="surrogates not allowed", report="J1")
class KeepsHalvesOfCharacters(MemoryProviderRegistry):
    fence = _Surrogates()


class _Silent(Fence):
    def sanitize_context(self, text):
        return fence.sanitize_context(text) if isinstance(text, str) else ""


@mutant(kills="MP-HOST-FENCE-007", says="no error", report="J1")
class DropsWhatIsNoText(MemoryProviderRegistry):
    fence = _Silent()


class _Careless(Fence):
    def sanitize_context(self, text):
        return fence.sanitize_context(text.replace("\ufeff", "\ufeff"))


@mutant(kills="MP-HOST-FENCE-007", says="has no attribute", report="J1")
class StumblesOverWhatIsNoText(MemoryProviderRegistry):
    fence = _Careless()


class _Twice(Fence):
    def sanitize_context(self, text):
        clean = fence.sanitize_context(text)
        return clean.replace("[fence]", "(fence)") if clean == text else clean


@mutant(
    kills="MP-HOST-FENCE-010",
    says="(fence)",
    report="F3",
    also={
        "MP-HOST-FENCE-022": "the substitute is a text without a delimiter, and comes back changed",
    },
)
class ChangesItsOwnSubstitute(MemoryProviderRegistry):
    fence = _Twice()


class _NoteTwice(Fence):
    def sanitize_context(self, text):
        clean = fence.sanitize_context(text)
        return clean.replace("(System", "(system") if "(System note" in text else clean


@mutant(kills="MP-HOST-FENCE-010", says="(system note", report="F3")
class ChangesItsOwnNote(MemoryProviderRegistry):
    fence = _NoteTwice()


class _Wordy(Fence):
    def sanitize_context(self, text):
        clean = fence.sanitize_context(text)
        return clean if clean == text else clean.replace("[fence]", "[a tag of the context block]")


@mutant(kills="MP-HOST-FENCE-011", says="at most", report="F3")
class WritesALongNotice(MemoryProviderRegistry):
    fence = _Wordy()


class _Deleting(Fence):
    def sanitize_context(self, text):
        clean = fence.sanitize_context(text)
        rest = clean.replace("[fence]", "")
        return rest if clean != text and fence.sanitize_context(rest) == rest else clean


@mutant(kills="MP-HOST-FENCE-012", says="something in place of the tag", report="F3")
class DeletesTags(MemoryProviderRegistry):
    fence = _Deleting()


class _Numbered(Fence):
    def __init__(self):
        self.counts = itertools.cycle("fg")

    def sanitize_context(self, text):
        clean = fence.sanitize_context(text)
        return clean if clean == text else clean.replace("[fence]", f"[{next(self.counts)}ence]")


@mutant(kills="MP-HOST-FENCE-013", says="and later", report="F7")
class CountsItsSubstitutes(MemoryProviderRegistry):
    fence = _Numbered()


class _Slow(Fence):
    def sanitize_context(self, text):
        re.search(r"(?s)<memory-context>.*?</memory-context>", text)
        return fence.sanitize_context(text)


@mutant(kills="MP-HOST-FENCE-014", says="opening tags without an end", report="F3")
class LooksForTheEndOfEachTag(MemoryProviderRegistry):
    fence = _Slow()


@mutant(kills="MP-HOST-FENCE-020", says="<|im_start|>", report="F3")
class LeavesRoles(MemoryProviderRegistry):
    fence = _Apart(r"(<\|\w+\|>)")


class _LineEnds(Fence):
    def sanitize_context(self, text):
        clean = fence.sanitize_context(text)
        return clean if clean != text else text.replace("\r\n", "\n")


@mutant(kills="MP-HOST-FENCE-022", says="as it was", report="F1")
class RewritesLineEnds(MemoryProviderRegistry):
    fence = _LineEnds()


@mutant(kills="MP-HOST-FENCE-002", says="a request without a context block", report="F7")
class SendsAnEmptyBlock(Sending):
    def request(self, before, words, content):
        empty = content if self.recalled else f"{content}\n\n{Fence().framed('')}"
        return [*before, {"role": "user", "content": empty}]


@mutant(kills="MP-HOST-FENCE-002", says="a request without a context block", report="F7")
class SendsAnEmptyBlockForALateRecall(Sending):
    def request(self, before, words, content):
        is_late = any(lane.late["enrich_turn"] for lane in self.registry._core.lanes)
        sent = f"{content}\n\n{Fence().framed('')}" if is_late and not self.recalled else content
        return [*before, {"role": "user", "content": sent}]


class _Numberless(Fence):
    def sanitize_context(self, text):
        bare = re.sub(r"&#(?:[0-9]+|[xX][0-9a-fA-F]+);?", "", text)
        is_delimiter = "[fence]" in fence.sanitize_context(bare) and "[fence]" not in bare
        return fence.sanitize_context(bare if is_delimiter else text)


@mutant(kills="MP-HOST-FENCE-022", says="as it was", report="F1")
class TakesANumberForNothing(MemoryProviderRegistry):
    fence = _Numberless()


@mutant(kills="MP-HOST-FENCE-002", says="of the turn before", report="D1")
class SaysTheLastAgainWhereRecallFails(MemoryProviderRegistry):
    last = ()

    def enrich_turn(self, user_message, messages):
        heard = []
        own, self._core.sink._on_event = self._core.sink._on_event, heard.append
        found = super().enrich_turn(user_message, messages)
        self._core.sink._on_event = own
        for event in heard:
            if own is not None:
                own(event)
        if all(event.outcome == "ok" for event in heard):
            self.last = found
        return found or [*self.last]


class _Cautious(Fence):
    class StreamingContextScrubber(_Good):
        def flush(self):
            held = super().flush()
            return f"[fence]{held}" if held.startswith("<") and len(held) > 1 else held


@mutant(kills="MP-HOST-FENCE-018", says="as it was", report="F1")
class TakesAHalfTagAtTheEndForOne(MemoryProviderRegistry):
    fence = _Cautious()


_LONGER = re.compile(r"(?:&amp;lt;|%253c|\\x5cx3c)memory-context(?=[a-z])")


class _Prefixes(Fence):
    def sanitize_context(self, text):
        return _LONGER.sub("[fence]", fence.sanitize_context(text))


@mutant(kills="MP-HOST-FENCE-022", says="as it was", report="F1")
class TakesALongerNameInAnEscapeForTheTag(MemoryProviderRegistry):
    fence = _Prefixes()
