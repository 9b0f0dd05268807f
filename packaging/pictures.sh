#!/usr/bin/env bash
# A picture of every page on the sample profile, light and dark: build/pictures/PAGE-THEME.png.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
out=build/pictures
virtual=()
if [ "$(uname -s)" = Linux ] && [ -z "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ]; then
  if command -v xvfb-run >/dev/null && command -v xauth >/dev/null; then
    virtual=(xvfb-run -a -s '-screen 0 1920x1200x24')
  else
    export QT_QPA_PLATFORM=offscreen
  fi
fi
mkdir -p "$out"
for page in load dashboard timeline advice information settings shortcuts; do
  for theme in light dark; do
    "${virtual[@]}" .venv/bin/smprof-desktop snapshot resources/sample --page "$page" --theme "$theme" --size 1600x1000 -o "$out/$page-$theme.png"
    echo "$out/$page-$theme.png"
  done
done
