"""An extension from a folder in PLUGIN_FOLDERS adds a setting, a route and a tool."""

import json
from pathlib import Path

import httpx2
import pytest

from backend.app.extensions import Installed, installed
from backend.errors import BadPlugin, SetupError
from backend.http.app import build_app
from backend.tools.registry import tools_of
from responder_thinker.testing import World, run_tool
from tests.http.world import settings_with
from tests.support.http_server import serve
from tests.support.services import services_of

FOLDER = Path(__file__).parent.parent / "examples" / "extension"


@pytest.fixture
def having() -> Installed:
    return installed([FOLDER])


async def test_the_route_of_the_extension_shows_its_setting(having: Installed, tmp_path: Path) -> None:
    settings = settings_with(data_dir=tmp_path, secret_key="k" * 32, shop={"opening_hours": "always"})
    services = services_of(settings=settings, frontend=tmp_path)
    async with serve(build_app(services, having.joined), lifespan="off") as url, httpx2.AsyncClient() as http:
        answer = await http.get(f"{url}/api/shop")
    assert answer.json() == {"opening_hours": "always"}
    assert answer.headers["cache-control"] == "no-store"


async def test_the_tool_of_the_extension_gets_its_setting(having: Installed) -> None:
    [module] = [each for each in having.modules("tools") if "opening_hours" in [tool.name for tool in tools_of(each)]]
    [kind] = [each for each in having.settings if each.prefix() == "SHOP__"]
    world = World(services={kind: kind.model_validate({"opening_hours": "on Sundays"})})
    result = await run_tool(module.opening_hours, world=world)
    assert json.loads(result.content)["opening_hours"] == "on Sundays"


def test_the_settings_of_the_extension_are_settings_of_the_server(having: Installed) -> None:
    assert "SHOP__OPENING_HOURS" in [name for kind in having.settings for name, _ in kind.variables()]


def test_the_error_names_the_folder_of_an_extension_that_cannot_be_loaded(tmp_path: Path) -> None:
    (tmp_path / "moon").mkdir()
    (tmp_path / "moon" / "extension.py").write_text("from .nothing import router\n")
    with pytest.raises(BadPlugin, match="moon"):
        installed([tmp_path])


def test_two_extensions_with_the_same_name_are_refused(tmp_path: Path) -> None:
    for name in ("moon", "stars"):
        (tmp_path / name).mkdir()
        written = 'from backend.extension import Extension\nEXTENSION = Extension(name="moon")\n'
        (tmp_path / name / "extension.py").write_text(written)
    with pytest.raises(SetupError, match="moon"):
        installed([tmp_path])
