"""Older profiles, made to look like the newest: one step per format version."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from smprof.profile.manifest import ProfileError
from smprof.profile.schema import VERSION


@dataclass(frozen=True)
class Step:
    """What turns version n into n + 1: the manifest's document, and each table as it was read."""

    document: Callable[[dict[str, Any]], dict[str, Any]]
    table: Callable[[str, pa.Table], pa.Table]


STEPS: Mapping[int, Step] = {}
"""The step from each older version. Version 1 is the first, so there is none yet."""


def version_of(document: Any) -> int:
    """The version that a manifest's document states. Raises ProfileError where it cannot be opened here."""
    version = document.get("version") if isinstance(document, dict) else None
    if type(version) is not int or version < 1:
        raise ProfileError("manifest.json is damaged: it states no format version; load the profile again.")
    if version > VERSION:
        raise ProfileError(
            f"The profile has format version {version}, this program reads up to {VERSION}; update SMProf Desktop."
        )
    return version


def upgrade_document(
    document: dict[str, Any], steps: Mapping[int, Step] = STEPS, target: int = VERSION
) -> dict[str, Any]:
    """The manifest's document in the newest form."""
    for version in range(document["version"], target):
        document = {**steps[version].document(document), "version": version + 1}
    return document


def upgrade_table(
    name: str, table: pa.Table, version: int, steps: Mapping[int, Step] = STEPS, target: int = VERSION
) -> pa.Table:
    """A table of a profile of `version` in the newest form."""
    for step in range(version, target):
        table = steps[step].table(name, table)
    return table
