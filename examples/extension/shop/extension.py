"""An example extension in a folder: a setting, a route and a tool. `PLUGIN_FOLDERS=examples/extension` loads it."""

from backend.access.principal import Grant
from backend.extension import Extension

from .routes import router
from .settings import ShopSettings

EXTENSION = Extension(
    name="shop",
    title="Shop",
    settings=(ShopSettings,),
    routes=(router,),
    grants={"/api/shop": Grant.CHAT},
    tools=(f"{__package__}.tool",),
)
