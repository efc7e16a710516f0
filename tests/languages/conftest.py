"""Outside of CI a language whose tools are missing is left out, which says what to install."""

import os
import shutil

import pytest

from tests.languages import building

#: Each language is one worker's affair: its project is built once.
_EACH = [pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in building.LANGUAGES]


@pytest.fixture(scope="module", params=_EACH)
def language(request):
    chosen = building.LANGUAGES[request.param]
    lacking = [program for program in chosen.needs if not shutil.which(program)]
    if lacking and not os.environ.get("MEMPROTO_CI"):
        pytest.skip(f"{chosen.name} needs {', '.join(lacking)} on PATH; install it to judge these")
    return chosen
