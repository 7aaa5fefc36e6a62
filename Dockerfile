# The backend alone: compose adds Redis and nginx. Python 3.13 is the newest for which every package has a wheel, on
# x86-64 and on arm64, so that nothing is compiled here.
FROM python:3.13-slim-bookworm@sha256:67a1e1f215ccda113cfc024e8639049257e88f273898f595b61476d128d387e8 AS build
WORKDIR /app
RUN pip install --no-cache-dir --disable-pip-version-check uv==0.13.9 && uv venv .venv
COPY requirements.txt requirements-dev.txt ./
RUN uv pip install --no-cache --no-deps --require-hashes --only-binary :all: -r requirements.txt
COPY pyproject.toml README.md LICENSE ./
COPY backend backend
COPY responder_thinker responder_thinker
COPY frontend frontend
# The development packages pin hatchling, which builds the wheel and does not stay in the image.
RUN uv build --wheel --build-constraints requirements-dev.txt --require-hashes --out-dir dist \
    && uv pip install --no-cache --no-deps dist/*.whl

FROM python:3.13-slim-bookworm@sha256:67a1e1f215ccda113cfc024e8639049257e88f273898f595b61476d128d387e8
# libopus0: the codec; libc++1: TEN VAD. Debian keeps only the newest version of each, so none is pinned.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends libc++1 libopus0 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --home-dir /app --shell /usr/sbin/nologin voice \
    && install -d -o voice -g voice -m 0700 /app/var
WORKDIR /app
COPY --from=build /app/.venv /app/.venv
ENV PATH="/app/.venv/bin:$PATH" \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    LOG_FORMAT=json \
    REQUIRE_PROVIDER=true \
    DATA_DIR=/app/var
USER 10001
# HTTP, and the media ports of RTC_PORT_RANGE as compose sets it.
EXPOSE 8000 10000-10100/udp
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/healthz', timeout=2)"]
STOPSIGNAL SIGTERM
CMD ["responder-thinker", "serve", "--host", "0.0.0.0"]
