#!/usr/bin/env bash
# Open the application on the sample profile. With no display: open it on a virtual one for a few seconds, and draw every page.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [ "$(uname -s)" != Linux ] || [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ]; then
  exec .venv/bin/smprof-desktop resources/sample "$@"
fi
echo "run: this machine has no display; the application runs on a virtual one, and every page is drawn into a picture."
if command -v xvfb-run >/dev/null && command -v xauth >/dev/null; then
  # shellcheck disable=SC2016
  xvfb-run -a -s '-screen 0 1920x1200x24' bash -c '
    .venv/bin/smprof-desktop resources/sample & window=$!
    for _ in 1 2 3 4 5; do sleep 1; kill -0 "$window" 2>/dev/null || break; done
    kill -TERM "$window" 2>/dev/null || true
    wait "$window"' && echo "run: the window opened on a virtual display and was closed again."
fi
bash packaging/pictures.sh
