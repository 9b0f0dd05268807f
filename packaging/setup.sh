#!/usr/bin/env bash
# Build .venv: system packages, then third parties by hash, then the two packages of this repository.
#
#     packaging/setup.sh run     what the application needs
#     packaging/setup.sh test    that, and what the checks and tests need
#
# Instant when nothing changed: each step leaves the checksum of what it was made from under .venv/ (the system's
# packages under build/). It works with Python >= 3.11, git and make alone, as root, with sudo, or with neither.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
what=${1:-run}
venv=.venv

say() { printf '%s\n' "$*"; }
stop() { printf 'setup: %s\n' "$*" >&2; exit 1; }

# Qt's libraries beyond libc; fonts-dejavu-core is the font of the pictures and of the stored screenshots.
system_packages="python3-venv libegl1 libgl1 libglib2.0-0 libdbus-1-3 libfontconfig1 libxkbcommon0 libxkbcommon-x11-0
  libxcb-cursor0 libxcb-icccm4 libxcb-image0 libxcb-keysyms1 libxcb-randr0 libxcb-render-util0 libxcb-shape0 libxcb-sync1
  libxcb-xfixes0 libxcb-xinerama0 libxcb-xkb1 libx11-xcb1 fonts-dejavu-core xvfb xauth"
# Mesa draws by OpenGL without a graphics card, on the virtual display of the tests.
test_packages="gcc libc6-dev libgl1-mesa-dri"

find_python() {
  local candidate
  for candidate in ${PYTHON:-} python3 python3.14 python3.13 python3.12 python3.11 python; do
    if command -v "$candidate" >/dev/null && "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      say "$candidate"
      return
    fi
  done
}

missing_packages() {
  local name
  for name in "$@"; do
    # Ubuntu 24.04 renamed the libraries that hold a time (libglib2.0-0t64); a python3-venv is moot where venv works.
    if [ "$name" = python3-venv ] && "$python" -c 'import ensurepip, venv' 2>/dev/null; then continue; fi
    { dpkg-query -W -f '${Status}\n' "$name" "${name}t64" 2>/dev/null || true; } | grep -q ' installed$' || say "$name"
  done
}

install_system_packages() {
  command -v dpkg-query >/dev/null && command -v apt-get >/dev/null || return 0
  local wanted missing as_root=()
  wanted="$system_packages"
  [ "$what" = test ] && wanted="$wanted $test_packages"
  # shellcheck disable=SC2086
  missing=$(missing_packages $wanted | tr '\n' ' ')
  missing=${missing% }
  [ -n "$missing" ] || return 0
  if [ "$(id -u)" != 0 ]; then
    as_root=(sudo -n)
    if ! sudo -n true 2>/dev/null; then
      say "setup: these system packages are missing; without them windows or pictures may fail. Install them with:"
      say "    sudo apt-get update && sudo apt-get install -y --no-install-recommends $missing"
      return 0
    fi
  fi
  say "setup: installing system packages: $missing"
  # shellcheck disable=SC2086
  if ! { "${as_root[@]}" apt-get -o DPkg::Lock::Timeout=120 update -qq </dev/null \
      && "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=120 -o Dpkg::Use-Pty=0 \
        install -y -qq --no-install-recommends $missing </dev/null >build/apt.log 2>&1; }; then
    tail -n 5 build/apt.log 2>/dev/null || true
    say "setup: the system packages could not be installed; going on without. To try by hand:"
    say "    sudo apt-get update && sudo apt-get install -y --no-install-recommends $missing"
  fi
}

fingerprint() {
  "$venv/bin/python" -c 'import sys; print(sys.version)' 2>/dev/null || true
  pwd
  cat packaging/setup.sh "locks/$what.txt" pyproject.toml collector/pyproject.toml
}

is_current() {
  [ -e "$venv/$what.stamp" ] && [ "$(fingerprint | cksum)" = "$(cat "$venv/$what.stamp")" ]
}

if [ "$what" != run ] && [ "$what" != test ]; then stop "say 'run' or 'test', not '$what'."; fi
is_current && exit 0
mkdir -p build
python=$(find_python)
[ -n "$python" ] || stop "Python 3.11 or newer is needed and was not found; install one, or name it: make setup PYTHON=/path/to/python3.12"
install_system_packages
if ! "$venv/bin/python" -c 'import sys, pip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
  "$python" -c 'import ensurepip, venv' 2>/dev/null \
    || stop "$python cannot make a virtual environment; install it: sudo apt-get install -y python3-venv"
  say "setup: making $venv with $("$python" --version)"
  rm -rf "$venv"
  "$python" -m venv "$venv"
fi
rm -f "$venv/$what.stamp"
say "setup: installing locks/$what.txt"
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1
"$venv/bin/python" -m pip install --quiet --only-binary :all: --require-hashes -r "locks/$what.txt" \
  || stop "the third parties could not be installed; what pip said stands above."
"$venv/bin/python" -m pip install --quiet --no-deps --no-build-isolation -e ./collector -e . \
  || stop "the packages of this repository could not be installed; what pip said stands above."
fingerprint | cksum >"$venv/$what.stamp"
if [ "$what" = test ]; then (what=run; fingerprint | cksum >"$venv/run.stamp"); fi
say "setup: $venv is ready"
