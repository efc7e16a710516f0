"""Half surrogates, which a str may hold and UTF-8 may not: what a text is on a wire."""


def joined(text: str) -> str:
    """The text as UTF-8 can hold it: two halves of a pair are joined, any other is U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
