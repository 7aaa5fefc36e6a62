"""Settings of the medical tools (`MEDICAL__…`)."""

from pydantic import Field, SecretStr

from backend.settings.plugin import PluginSettings


class MedicalSettings(PluginSettings, env_prefix="MEDICAL__"):
    """The address of PubMed, and an optional key."""

    ncbi_url: str = Field("https://eutils.ncbi.nlm.nih.gov/entrez/eutils", description="PubMed (NCBI E-utilities).")
    ncbi_api_key: SecretStr | None = Field(None, description="NCBI key, for more PubMed requests per second.")
