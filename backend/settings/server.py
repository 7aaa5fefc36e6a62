"""Settings of the server's own address and connections, and of its processes."""

from pydantic import Field, SecretStr

from backend.settings.network import HostNames, Networks
from backend.settings.plugin import PluginSettings


class ServerSettings(PluginSettings):
    """The names and addresses of the server, and its processes."""

    allowed_hosts: HostNames = Field(
        [],
        description="Further names by which the server may be addressed (`Host`), comma-separated; `*`: every one. "
        "Loopback, its own address, RTC_FORCE_HOST and ALLOWED_ORIGINS are always allowed.",
    )
    trusted_proxies: Networks = Field(
        ["127.0.0.0/8", "::1"],
        description="Addresses or networks of proxies that are believed about X-Forwarded-For and X-Forwarded-Proto.",
    )
    publish_on: str | None = Field(
        None, description="Address at which a container's ports are published, as compose sets it; unset: no container."
    )
    connections_per_address: int = Field(
        128, ge=0, description="Connections of one address at the same time; those of TRUSTED_PROXIES are not counted."
    )
    metrics_token: SecretStr | None = Field(
        None,
        min_length=16,
        description="Token that opens /metrics, 16 characters or more; unset: it answers this machine only.",
    )
    workers: int = Field(1, ge=1, le=64, description="Processes that serve the one port together.")
    share_sessions: bool = Field(
        False, description="Whether several servers behind one address act as one; needs REDIS_URL."
    )
    drain_s: float = Field(0, ge=0, description="Seconds calls may continue after SIGTERM, while new ones are refused.")

    @property
    def several_processes(self) -> bool:
        """Return whether this process is one of several that serve the same callers."""
        return self.workers > 1 or self.share_sessions
