"""Words that a host is to hand over as they are."""

#: Characters that stay only where nobody normalises them: no two forms of a letter are one text.
UNUSUAL = "x\u00b2 is no x2, \ufb01le no file, cafe\u0301 no caf\u00e9, and \u2460\u00a0m no 1 m."

#: Pages that somebody pasted: more than a careless bound leaves, and less than a model takes.
PAGES = "The ferry leaves at six. " * 1_600

#: Ends of keys that are two keys, and one where somebody makes them fit for a file.
ALMOST_EQUAL = (
    ("/a", "_a"),
    (" a", "-a"),
    ("A", "a"),
    ("a ", "a"),
    (f"{'a' * 400}1", f"{'a' * 400}2"),
    (f"{'a' * 200}1{'a' * 200}", f"{'a' * 200}2{'a' * 200}"),
    ("caf\u00e9", "cafe\u0301"),
    ("a\u200bb", "ab"),
)
