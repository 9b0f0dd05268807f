"""Files that ship with the application: icons and the sample profile."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
SAMPLE_PROFILE = "sample"


def path(name: str) -> Path:
    """Where the resource of that name is. Raises FileNotFoundError, saying where it was looked for.

    A wheel carries `resources/` of the repository as `smprof_desktop/data/`; an editable installation has it beside the
    package.
    """
    places = (_PACKAGE / "data" / name, _PACKAGE.parent / "resources" / name)
    for place in places:
        if place.exists():
            return place
    raise FileNotFoundError(
        f"the resource {name} is missing: neither {places[0]} nor {places[1]} is there; install the application again"
    )
