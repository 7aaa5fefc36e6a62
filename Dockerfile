# The backend alone: compose adds Redis and nginx. Python 3.11, because every package has a wheel for it on
# both x86-64 and arm64, so that nothing is compiled here.
FROM python:3.11-slim-bookworm@sha256:b18992999dbe963a45a8a4da40ac2b1975be1a776d939d098c647482bcad5cba AS build
WORKDIR /app
RUN python -m venv .venv
COPY requirements.txt ./
RUN .venv/bin/pip install --no-cache-dir --disable-pip-version-check --no-deps --require-hashes -r requirements.txt
COPY pyproject.toml README.md LICENSE ./
COPY backend backend
COPY client client
COPY demo demo
COPY local_responder local_responder
COPY frontend frontend
# Editable, so that the server finds the page beside itself here as it does in a checkout.
RUN .venv/bin/pip install --no-cache-dir --disable-pip-version-check --no-deps -e .

FROM python:3.11-slim-bookworm@sha256:b18992999dbe963a45a8a4da40ac2b1975be1a776d939d098c647482bcad5cba
# libopus0: the codec; libc++1: TEN VAD. Debian keeps only the newest version of each, so none is pinned.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends libc++1 libopus0 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --home-dir /app --shell /usr/sbin/nologin voice \
    && install -d -o voice -g voice -m 0700 /app/var
WORKDIR /app
COPY --from=build /app /app
ENV PATH="/app/.venv/bin:$PATH" \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    LOG_FORMAT=json \
    DATA_DIR=/app/var
USER 10001
# HTTP, and the media ports of RTC_PORT_RANGE as compose sets it.
EXPOSE 8000 10000-10100/udp
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/healthz', timeout=2)"]
STOPSIGNAL SIGTERM
CMD ["responder-thinker", "serve", "--host", "0.0.0.0"]
