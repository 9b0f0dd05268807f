"""TARGETs of the command line and of the Load page → one open profile."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from smprof.profile.guard import Guard
from smprof.profile.guard_child import Spare
from smprof.profile.manifest import ProfileError
from smprof.profile.reader import Profile
from smprof.profile.schema import VERSION as FORMAT_VERSION
from smprof_desktop import resources
from smprof_desktop.importers import convert
from smprof_desktop.importers.detect import detect
from smprof_desktop.importers.nsight_report import without_exported
from smprof_desktop.progress import CancelCheck, Cancelled, Progress, never, silent
from smprof_desktop.sources import folder
from smprof_desktop.sources.checked import CheckedFiles
from smprof_desktop.sources.store import Store, key_of

_NAMED_AT_MOST = 3
_OF_THE_DISK = frozenset({"missing_segment", "damaged_segment", "unjournaled_segment", "damaged_journal"})
"""Losses that an import does not have when it is written."""


def open_targets(
    targets: Sequence[str],
    progress: Progress = silent,
    cancelled: CancelCheck = never,
    store: Store | None = None,
    spare: Spare | None = None,
) -> Profile:
    """One profile of all targets: profile folders, trace files, and folders of traces.

    All trace files together are one import, kept in the store by content. `spare` is a guard's child started ahead.
    Raises ProfileError, and Cancelled.
    """
    if not targets:
        raise ProfileError("There is nothing to open; name a profile folder or a trace file.")
    profiles: list[Path] = []
    traces: list[Path] = []
    refused: list[str] = []
    for target in targets:
        for path in _paths_of(target, refused):
            listed = profiles if path.is_dir() else traces
            if path.resolve() not in {known.resolve() for known in listed}:
                listed.append(path)
    # What others wrote is read by a child process first; imports and the sample are our own writing.
    guard = Guard(spare=spare, memory=CheckedFiles())
    opened: list[Profile] = []
    try:
        opened += (Profile.open(path, None if _is_own(path) else guard) for path in profiles)
        if traces:
            opened.append(_open_traces(traces, progress, cancelled, store if store is not None else Store()))
        if cancelled():
            raise Cancelled
        profile = opened[0] if len(opened) == 1 else Profile.combine(opened)
    except BaseException:
        for profile in opened:
            profile.close()
        raise
    for sentence in refused:
        profile.manifest.lose("unread_file", 1, sentence)
    return profile


def check(targets: Sequence[str]) -> None:
    """A cheap look at every target before anything slow begins. Raises ProfileError for what cannot be opened."""
    for target in targets:
        for path in _paths_of(target, []):
            if not path.is_dir():
                convert.readable(path)


def _is_own(path: Path) -> bool:
    """Whether this program brought the profile along."""
    return path.resolve() == resources.path(resources.SAMPLE_PROFILE).resolve()


def _open_traces(traces: Sequence[Path], progress: Progress, cancelled: CancelCheck, store: Store) -> Profile:
    """The profile of trace files, imported unless the store has it already, whole."""
    for path in traces:
        convert.readable(path)
    progress(0.0, "looking for an earlier import")
    try:
        key = key_of(traces, f"importer {convert.VERSION} format {FORMAT_VERSION}", cancelled)
        if cancelled():
            raise Cancelled
        kept = store.get(key)
        if kept is not None:
            profile = _whole(kept)
            if profile is not None:
                # It may have been imported from another folder: what is in it is the same, what it is called is not.
                profile.manifest.name = convert.profile_name(traces)
                return profile
            store.remove(key)
        return Profile.open(store.put(key, lambda out: convert.import_traces(traces, out, progress, cancelled)))
    except OSError as error:
        where = error.filename or store.folder
        raise ProfileError(
            f"{where}: {error.strerror or error}; check the path, its permissions and free space."
        ) from None


def _whole(kept: Path) -> Profile | None:
    """The profile kept there; None where the disk lost a part of it, which a new import brings back."""
    try:
        profile = Profile.open(kept)
    except ProfileError:
        return None
    if any(loss.kind in _OF_THE_DISK for loss in profile.losses):
        profile.close()
        return None
    return profile


def _paths_of(target: str, refused: list[str]) -> list[Path]:
    """The profile folders and trace files that a target stands for; what of a folder is not read goes to `refused`."""
    if "://" in target:
        raise ProfileError(f"{target} cannot be opened: this version reads local files only; download it first.")
    path = Path(target).expanduser()
    try:
        if not path.exists():
            raise ProfileError(f"{target} does not exist; check the path.")
        if not path.is_dir() or folder.is_profile(path):
            return [path]
    except OSError as error:
        raise ProfileError(f"{target} cannot be read: {error.strerror or error}; check the path.") from None
    listing = folder.listing(path, detect)
    found = listing.entries
    traces = without_exported([entry.path for entry in found if entry.kind in convert.READABLE])
    if traces:
        refused += listing.refused
        beside = [entry.name for entry in found if entry.kind == folder.PROFILE]
        refused += [f"{name} is a profile among traces; open it by itself." for name in beside]
        return traces
    profiles = [entry for entry in found if entry.kind == folder.PROFILE]
    if len(profiles) == 1:
        return [profiles[0].path]
    if profiles:
        names = ", ".join(entry.name for entry in profiles[:_NAMED_AT_MOST])
        more = f" and {len(profiles) - _NAMED_AT_MOST} more" if len(profiles) > _NAMED_AT_MOST else ""
        raise ProfileError(f"{target} holds {len(profiles)} profiles ({names}{more}); open one of them.")
    if found:
        # Nothing in it can be read yet: the refusal of the first says what it is.
        convert.readable(found[0].path)
    raise ProfileError(
        f"{target} holds neither a profile nor a trace; open a folder that holds manifest.json or traces."
    )
