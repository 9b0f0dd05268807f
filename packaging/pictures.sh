#!/usr/bin/env bash
# A picture of every page on the sample profile, light and dark: build/pictures/PAGE-THEME.png. Needs no display.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
out=build/pictures
mkdir -p "$out"
for page in load dashboard timeline advice information settings shortcuts; do
  for theme in light dark; do
    .venv/bin/smprof-desktop snapshot resources/sample --page "$page" --theme "$theme" --size 1600x1000 -o "$out/$page-$theme.png"
    echo "$out/$page-$theme.png"
  done
done
