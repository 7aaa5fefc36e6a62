"""Settings of the web services that the tools ask."""

from pydantic import Field, SecretStr

from backend.settings.plugin import PluginSettings


class ServiceSettings(PluginSettings):
    """Addresses and keys of the web services that the tools ask."""

    finnhub_api_key: SecretStr | None = Field(None, description="Finnhub key, for stock quotes; unset: sample data.")
    newsapi_api_key: SecretStr | None = Field(None, description="NewsAPI key, for headlines; unset: sample data.")
    open_meteo_forecast_url: str = Field(
        "https://api.open-meteo.com/v1/forecast", description="Weather forecasts (no key needed)."
    )
    open_meteo_geocoding_url: str = Field(
        "https://geocoding-api.open-meteo.com/v1/search", description="Place names to coordinates."
    )
    finnhub_url: str = Field("https://finnhub.io/api/v1", description="Finnhub's API.")
    newsapi_url: str = Field("https://newsapi.org/v2", description="NewsAPI's API.")
    searxng_url: str | None = Field(None, description="SearXNG server for web searches; its JSON format must be on.")
    brave_api_key: SecretStr | None = Field(
        None, description="Brave Search key, for web searches where SEARXNG_URL is unset."
    )
    brave_url: str = Field("https://api.search.brave.com/res/v1", description="Brave Search's API.")
    research_delay_s: float = Field(
        0,
        ge=0,
        description="For demonstrations: least seconds of the research Thinker; 30 shows how a slow one is covered.",
    )
