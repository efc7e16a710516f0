"""
Pages: templates that escape what they are given, in one file that asks the network for nothing.

A page's policy forbids every script and style but its own, by their hashes, and every request; so
what a provider is called, says or returned stays text even where an escape was forgotten.
"""

import base64
import functools
import hashlib
import itertools
from typing import TYPE_CHECKING, Any

from memproto.errors import MissingPackage
from memproto.report import plot, view

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


def render(template: str, styles: tuple[str, ...], scripts: tuple[str, ...], **values: Any) -> str:
    """
    The page, ready to be written; the same values give the same bytes.

    Raises:
        MissingPackage: Jinja2 is not installed; it comes with `memproto[kit]`.

    """
    environment = _environment()
    from markupsafe import Markup

    style, code = _sources(styles), _sources(("theme.js", *scripts))
    own = {"style": Markup(style), "script": Markup(code)}  # noqa: S704 - the kit's own files
    page = environment.get_template(template)
    return page.render(policy=_policy(style, code), **own, **values) + "\n"


def check_installed(asked_by: str) -> None:
    """
    Say before any work is done that pages cannot be made here.

    Raises:
        MissingPackage: Jinja2 is not installed.

    """
    from importlib.util import find_spec

    if find_spec("jinja2") is None:
        raise MissingPackage(asked_by, "pages need Jinja2", "pip install 'memproto[kit]'")


def encoded(page: str) -> bytes:
    """UTF-8; what is none (a lone surrogate) was made printable before."""
    return page.encode("utf-8", "backslashreplace")


@functools.cache
def _environment() -> "Environment":
    check_installed("memproto.report.pages")
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("memproto.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"word": view.word, "tone": view.tone, "duration": plot.duration}
    environment.filters["prose"] = _prose
    return environment


def _prose(text: str) -> "Markup":
    """A sentence with what stands between backticks as code; everything else as it is."""
    from markupsafe import Markup

    parts = text.split("`")
    if len(parts) % 2 == 0:
        # One backtick is without its other half, so none of them means code.
        return Markup("{}").format(text)
    dresses = itertools.cycle((Markup("{}"), Markup("<code>{}</code>")))
    return Markup("").join(dress.format(part) for dress, part in zip(dresses, parts, strict=False))


def _sources(names: tuple[str, ...]) -> str:
    environment = _environment()
    assert environment.loader is not None
    found = [environment.loader.get_source(environment, name)[0].strip() for name in names]
    return "\n".join(found)


def _policy(style: str, code: str) -> str:
    """Nothing but the page's own script and style, and no request at all."""
    own = f"style-src {_digest(style)}; script-src {_digest(code)}"
    return f"default-src 'none'; img-src data:; {own}; base-uri 'none'; form-action 'none'"


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
