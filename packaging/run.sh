#!/usr/bin/env bash
# Open the application on the sample profile; where there is no display, draw every page of it instead.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [ "$(uname -s)" = Linux ] && [ -z "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ]; then
  echo "run: this machine has no display; running on a virtual one and drawing every page instead."
  exec bash packaging/pictures.sh
fi
exec .venv/bin/smprof-desktop resources/sample "$@"
