# make run and make test do everything on a fresh Debian or Ubuntu machine with Python 3.11 or newer.
.DEFAULT_GOAL := help
.PHONY: help install install-test run test test-all quick lint fmt fuzz bench gauntlet requirements images audit sbom

UV := $(or $(wildcard .venv/bin/uv),uv)
COMPILE := $(UV) pip compile --quiet --universal --no-emit-index-url --no-annotate --no-header --generate-hashes

CLIENTS := tests/extensions/realtime_endpoint/clients
# A fifth of a gigabyte that is only imported for a resampler and for numbers in words, which the tests do not use.
CLIENTS_DO_WITHOUT := $(addprefix --no-emit-package ,docopt llvmlite num2words numba resampy)

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 24

install: ## Install what serving needs (quick when nothing is missing)
	@scripts/install.sh run

install-test: install ## Install what the tests need, too: browsers, nginx, linters
	@scripts/install.sh test

run: install ## Serve at PORT=8000; settings come from the environment and .env
	@exec .venv/bin/responder-thinker serve --port $(or $(PORT),8000)

test: install-test ## Check what every change must pass: format, lint, types, deployment files, tests
	@scripts/check.sh

test-all: install-test ## The same, with tests that compare times or run long, and every random example
	@scripts/check.sh everything

quick: install-test ## Format, lint, types, and the tests that need no browser, no second process, no real clock
	@scripts/check.sh quick

lint: install-test ## The checks without the tests
	@scripts/check.sh static

fmt: install-test ## Format, and mend what the linter can
	@.venv/bin/ruff format .
	@.venv/bin/ruff check --fix .
	@.venv/bin/python -m scripts.settings_table
	@.venv/bin/python -m scripts.thinkers_table
	@.venv/bin/python -m scripts.documents_table

fuzz: install-test ## Try for ten minutes each what strangers, visitors and operators may send
	@FUZZ_SECONDS=600 .venv/bin/python -m pytest -rP tests/outside/test_openapi_document.py

bench: install-test ## Measure one call and eight at once; three minutes
	@.venv/bin/python -m benchmarks.calls

gauntlet: install-test ## Drive every provider through everything that can go wrong; under ten minutes
	@.venv/bin/python -m benchmarks.gauntlet

requirements: ## Pin again what pyproject.toml asks for (needs uv)
	$(COMPILE) --extra dev pyproject.toml -o requirements-dev.txt
	$(COMPILE) --extra all pyproject.toml -c requirements-dev.txt -o requirements.txt
	$(COMPILE) --python-version 3.11 $(CLIENTS_DO_WITHOUT) $(CLIENTS)/requirements.in -o $(CLIENTS)/requirements.txt

images: ## Name the images by the digests their registry gives now (needs docker)
	@scripts/pin_images.sh

audit: install-test ## Known vulnerabilities of the packages, where a registry answers
	@.venv/bin/python -m scripts.audit

sbom: install-test ## Write build/sbom.json, the software bill of materials (CycloneDX)
	@mkdir -p build
	@PYTHONWARNINGS=ignore .venv/bin/cyclonedx-py requirements requirements.txt --pyproject pyproject.toml --output-reproducible -o build/sbom.json
