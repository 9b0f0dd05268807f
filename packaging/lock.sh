#!/usr/bin/env bash
# Resolve locks/run.txt and locks/test.txt anew from pyproject.toml, for Python 3.11 to 3.14 on Linux, macOS and Windows.
#
#     make locks            keep what is locked where it still fits
#     make locks UPGRADE=1  take the newest of everything
#
# The files carry hashes and no address: they install from whatever index the machine is set up with.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
tool=build/lock
[ -x "$tool/bin/uv" ] || { "${PYTHON:-python3}" -m venv "$tool" && "$tool/bin/python" -m pip install --quiet uv; }
compile() {
  "$tool/bin/uv" pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
    --no-emit-package smprof-collector --custom-compile-command 'make locks' ${UPGRADE:+--upgrade} "$@"
}
compile --group build --group qt --output-file locks/run.txt pyproject.toml collector/pyproject.toml
compile --group build --group qt --group test --constraint locks/run.txt --output-file locks/test.txt pyproject.toml collector/pyproject.toml
