"""The home of the documentation site in a real Chromium: nothing of it is cut off."""

from pathlib import Path

import pytest

HOME = Path(__file__).parents[2] / "build/site/html/index.html"

#: The boxes of code and of tables whose content is wider than they are.
CLIPPED = """
() => [...document.querySelectorAll("pre, pre > code, .md-typeset table")]
    .filter(box => box.scrollWidth > box.clientWidth + 1)
    .map(box => box.textContent.slice(0, 60))
"""


@pytest.mark.parametrize("width", [1280, 390])
def test_the_home_clips_nothing(visit, width):
    assert HOME.is_file(), "build the site first: python scripts/site && zensical build --strict"
    # Without scripts: the search of the site loads its index by a request.
    page = visit(HOME, width=width, scripts=False)
    assert page.locator("pre > code").count() > 5
    assert page.evaluate(CLIPPED) == []
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
