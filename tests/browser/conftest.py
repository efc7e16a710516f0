"""A real Chromium, and pages in it that are watched: every message, error and request counts."""

import os
import shutil

import pytest
from playwright.sync_api import sync_playwright

#: The advice to a reader of the tests, as in scripts/programs.py.
FIX = "install chromium, as in: sudo apt-get install -y chromium"

_NAMES = ("chromium", "chromium-browser", "google-chrome")

#: In a container there is no sandbox to start; the rest keeps the browser off the network.
_ARGUMENTS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


@pytest.fixture(scope="session")
def browser():
    """
    One browser for all tests.

    In CI they fail without one, since nothing was looked at. For a contributor without a browser
    they are left out, with the command that brings them back.
    """
    path = next(filter(None, map(shutil.which, _NAMES)), None)
    if path is None and not os.environ.get("MEMPROTO_CI"):
        pytest.skip(f"left out without a browser; {FIX}, then .venv-tox/bin/tox run -e pages")
    assert path, FIX
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=list(_ARGUMENTS))
        yield started
        started.close()


@pytest.fixture
def visit(browser):
    """
    A function that opens a file and gives its page.

    At the end nothing was written to the console, nothing raised and nothing but files was asked
    for, in any page that was opened.
    """
    contexts, heard = [], []

    def visit_file(path, *, width=1280, height=900, scheme="light", scripts=True):
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme=scheme,
            java_script_enabled=scripts,
            reduced_motion="reduce",
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: heard.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: heard.append(f"error: {error}"))
        page.on("dialog", lambda dialog: heard.append(f"dialog: {dialog.message}"))
        page.on("request", lambda request: heard.extend(strange(request.url)))
        page.goto(path.as_uri())
        return page

    yield visit_file
    for context in contexts:
        context.close()
    assert heard == []


def strange(url):
    return [] if url.startswith(("file:", "data:,")) else [f"request: {url}"]
