"""The extensions a server has: those whose packages are installed, each under a name of its own."""

from __future__ import annotations

import subprocess
import sys

import pytest

from backend.app.extensions import installed
from backend.errors import MissingLibrary
from backend.runtime.extras import require

WITHOUT = """
import sys
sys.modules["aiosipua"] = None
from backend.app.extensions import installed
print(dict(installed().missing), "sip" in [each.name for each in installed().extensions])
"""


def test_every_folder_of_extensions_declares_one_of_its_name() -> None:
    here = installed()
    assert {"local", "sip", "telephone"} <= {each.name for each in here.extensions} and not here.missing


def test_an_extension_whose_package_is_not_installed_is_missing_and_the_others_are_there() -> None:
    printed = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=True)
    assert printed.stdout.strip() == "{'sip': 'aiosipua'} False"


def test_what_is_not_installed_is_asked_for_with_the_command_that_installs_it() -> None:
    require("json", extra="any", needed_by="A_SETTING")
    with pytest.raises(MissingLibrary) as refused:
        require("no_such_package", extra="oidc", needed_by="ACCESS=oidc")
    assert refused.value.hint == "pip install 'responder-thinker[oidc]'"
