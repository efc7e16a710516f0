"""The place where the text of a page is kept, and the targets of its links on the site."""

import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[2]

_LINK = re.compile(r"(?<=\]\()([^)#\s:]+)(?=[#)])")
_CODE = re.compile(r"^(```|~~~).*?^\1\s*$|`[^`\n]+`", re.MULTILINE | re.DOTALL)

#: Shown in a page, and not by one of their own.
_IMAGES = (".png", ".svg", ".webp")

_LANGUAGES = {".py": "python", ".toml": "toml", ".json": "json", ".yml": "yaml", ".yaml": "yaml"}


def source_of(page: str) -> str:
    """The file in which the text of a page is kept."""
    return "README.md" if page == "index.md" else page


def page_of(file: str) -> str:
    """The page that shows a file of the repository: itself, or one made of its text."""
    if file == "README.md":
        return "index.md"
    return file if file.endswith((".md", *_IMAGES)) else f"{file}.md"


def adjusted(text: str, page: str) -> str:
    """The text with its links to files of the repository turned to pages of the site."""
    pieces, end = [], 0
    for code in _CODE.finditer(text):
        pieces += [_adjusted(text[end : code.start()], page), code[0]]
        end = code.end()
    return "".join([*pieces, _adjusted(text[end:], page)])


def _adjusted(text: str, page: str) -> str:
    return _LINK.sub(lambda found: _target(found[1], page), text)


def _target(link: str, page: str) -> str:
    """A relative link from a page; one that leads nowhere stays, and the build refuses it."""
    place = PurePosixPath(os.path.normpath(PurePosixPath(source_of(page)).parent / link))
    if not (ROOT / place).exists():
        return link
    return os.path.relpath(page_of(str(place)), PurePosixPath(page).parent)


def sources(folder: Path) -> list[str]:
    """The files of the repository that pages link to and that are no pages themselves."""
    found: set[str] = set()
    waiting = [path.relative_to(folder).as_posix() for path in folder.rglob("*.md")]
    texts = {page: (folder / page).read_text("utf-8") for page in waiting}
    while waiting:
        page = waiting.pop()
        for file in set(_linked(texts[page], page)) - found:
            if not (folder / f"{file}.md").exists():
                found.add(file)
                waiting.append(f"{file}.md")
                texts[f"{file}.md"] = shown(file)
    return sorted(found)


def images(folder: Path) -> list[str]:
    """The images of the repository that pages show."""
    pages = [path.relative_to(folder).as_posix() for path in folder.rglob("*.md")]
    linked = [
        os.path.normpath(PurePosixPath(page).parent / link)
        for page in pages
        for link in _LINK.findall(_CODE.sub("", (folder / page).read_text("utf-8")))
    ]
    return sorted({file for file in linked if file.endswith(_IMAGES) and (ROOT / file).is_file()})


def _linked(text: str, page: str) -> Iterator[str]:
    for link in _LINK.findall(_CODE.sub("", text)):
        place = os.path.normpath(PurePosixPath(page).parent / link)
        file = place.removesuffix(".md")
        if place.endswith(".md") and not file.startswith("..") and (ROOT / file).exists():
            yield file


def shown(file: str) -> str:
    """A page that shows a file, or the list of a directory."""
    path = ROOT / file
    if path.is_dir():
        rows = [f"- [{one.name}]({path.name}/{one.name}.md)" for one in _listed(path)]
        return "\n".join([f"# {file}", "", *rows, ""])
    language = _LANGUAGES.get(path.suffix, "text")
    return f"# {file}\n\n````{language}\n{path.read_text('utf-8').rstrip()}\n````\n"


def _listed(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.iterdir()) if path.is_file() and path.name[0] != "."]
