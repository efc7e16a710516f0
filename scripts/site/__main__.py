"""
Gathers the pages of the documentation site: `python scripts/site [DIR]`, then `zensical build`.

Every text is kept once, where a reader of the repository finds it; this copies what mkdocs.yml
names, and makes the pages that are made of data. DIR is build/site/pages, as mkdocs.yml says.
"""

import argparse
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import generated  # noqa: E402 - needs the path above
import linking  # noqa: E402
import navigation  # noqa: E402
import requirement_pages  # noqa: E402

from memproto import spec  # noqa: E402

ROOT = HERE.parents[1]

#: The schemas, which are published as they are beside the pages that show them.
_SCHEMAS = "spec/v1/schemas"

#: The style that mkdocs.yml adds to the theme's.
_STYLE = "docs/site.css"


def build(folder: Path) -> list[Path]:
    """
    Write all pages into `folder`, which is emptied before; gives what was written.

    Schemas and the catalogue are written as JSON as well, for programs.

    Raises:
        FileNotFoundError: mkdocs.yml names a page that is nowhere, or a page a file that is not.

    """
    shutil.rmtree(folder, ignore_errors=True)
    pages = [*navigation.pages(ROOT / "mkdocs.yml"), *navigation.listed(ROOT)]
    written = [_write(folder, page, linking.adjusted(_text(page), page)) for page in pages]
    written += [
        _write(folder, page, linking.adjusted(text, page))
        for page, text in requirement_pages.pages().items()
    ]
    shown = {f"{source}.md": linking.shown(source) for source in linking.sources(folder)}
    written += [_write(folder, page, text) for page, text in shown.items()]
    written += [_copied(folder, image) for image in linking.images(folder)]
    written += [_copied(folder, f"{_SCHEMAS}/{path.name}") for path in _schemas()]
    written.append(_copied(folder, _STYLE))
    return [*written, _write(folder, "spec/v1/requirements.json", spec.as_json())]


def _schemas() -> list[Path]:
    return sorted((ROOT / _SCHEMAS).glob("*.json"))


def _text(page: str) -> str:
    """The text of a page, from the file in which it is kept, with its made parts."""
    return generated.completed((ROOT / linking.source_of(page)).read_text("utf-8"))


def _copied(folder: Path, image: str) -> Path:
    path = folder / image
    path.parent.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copyfile(ROOT / image, path))


def _write(folder: Path, page: str, text: str) -> Path:
    path = folder / page
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def main() -> int:
    """Build where the command line says."""
    parser = argparse.ArgumentParser(prog="scripts/site", description=__doc__)
    default = ROOT / "build" / "site" / "pages"
    parser.add_argument("folder", nargs="?", type=Path, default=default)
    written = build(parser.parse_args().folder)
    sys.stdout.write(f"{len(written)} pages\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
