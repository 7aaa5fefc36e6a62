"""A server has the extensions with installed packages, each under a name of its own."""

from pathlib import Path

import pytest

from backend import extensions
from backend.app.extensions import Installed, installed
from backend.errors import MissingLibrary
from backend.runtime.extras import require


def test_every_folder_of_extensions_declares_an_extension_of_its_name() -> None:
    here = installed()
    folders = {path.parent.name for path in Path(extensions.__path__[0]).glob("*/extension.py")}
    assert {each.name for each in here.extensions} == folders and not here.missing


def test_settings_of_an_extension_without_its_package_are_not_called_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_text("SIP__TRUNK=sip:pbx.test\n")
    assert "SIP__TRUNK is not a setting." in Installed().slips()
    assert not any("SIP__" in each for each in Installed(missing={"sip": "a_package"}).slips())


def test_the_error_about_a_missing_package_contains_the_command_that_installs_it() -> None:
    require("json", extra="any", needed_by="A_SETTING")
    with pytest.raises(MissingLibrary) as refused:
        require("no_such_package", extra="oidc", needed_by="ACCESS=oidc")
    assert refused.value.hint == "pip install 'responder-thinker[oidc]'"
