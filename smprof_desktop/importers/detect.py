"""What a file is, by its content and never by its name."""

from __future__ import annotations

import re
import stat
from pathlib import Path

from smprof.profile.manifest import MANIFEST_NAME, ProfileError
from smprof_desktop.importers import content, nsight_database, nsight_report
from smprof_desktop.importers.kineto import KINETO_CATEGORIES

HEAD_BYTES = 4 << 20

_MAGICS: tuple[tuple[bytes, str, str], ...] = (
    (b"version https://git-lfs", "a Git LFS pointer, not the file itself", "fetch it with `git lfs pull`"),
    (b"\x89PNG", "a picture", "open the trace itself"),
    (b"\xff\xd8\xff", "a picture", "open the trace itself"),
    (b"GIF8", "a picture", "open the trace itself"),
    (b"%PDF", "a PDF document", "open the trace itself"),
    (b"PK\x03\x04", "a zip archive", "unpack it and open the trace in it"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd", "unpack it with `zstd -d`"),
    (b"\xfd7zXZ", "compressed with xz", "unpack it with `xz -d`"),
    (b"BZh", "compressed with bzip2", "unpack it with `bzip2 -d`"),
    (b"PAR1", "one table of a profile", "open the profile's folder, which holds manifest.json"),
    (b"\x7fELF", "a program", "open the trace itself"),
)
_NSYS_REPORT = b"NVIDIA Tegra Profiler Report"
_TAR_AT, _TAR = 257, b"ustar"
_NO_FILES = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)
_CATEGORY = re.compile(rb'"cat"\s*:\s*"([A-Za-z0-9_]{1,40})"')
_KINETO_KEY = re.compile(rb'"(?:schemaVersion|deviceProperties|distributedInfo|baseTimeNanoseconds)"\s*:')
_EVENT_FIELD = re.compile(rb'"ph"\s*:\s*"')
_TIMELINE = re.compile(rb"\[\s*\[\s*(?:-?\d|\])")
_PLANE = re.compile(rb"/host:|/device:|#Chip|Task Environment")


def detect(path: Path) -> str:
    """What `path` is: "profile" (a folder), "kineto", "chrome" (other trace-event JSON), "nsight" or "xplane".

    An Nsight Systems report is "nsys-rep" where there is an nsys to export it.
    Raises ProfileError that says what it is otherwise and what to do.
    """
    try:
        if path.is_dir():
            if (path / MANIFEST_NAME).is_file():
                return "profile"
            raise ProfileError(f"{path} is a folder without {MANIFEST_NAME}; open a profile's folder or a trace file.")
        _refuse_no_file(path)
        head = content.head(path, HEAD_BYTES)
        if not head and content.is_gzip(path) and not content.is_whole_gzip(path):
            raise ProfileError(f"{path} is gzip data that cannot be unpacked; copy or export the trace again.")
    except FileNotFoundError:
        raise ProfileError(f"{path} does not exist; check the path.") from None
    except OSError as error:
        raise ProfileError(f"{path} cannot be read: {error.strerror or error}; check its permissions.") from None
    return kind_of_head(path, head)


def _refuse_no_file(path: Path) -> None:
    """Refuse what a program may wait for without end."""
    mode = path.stat().st_mode
    for is_it, what in _NO_FILES:
        if is_it(mode):
            raise ProfileError(f"{path} is {what}, not a file; save the trace as a file and open that.")


def kind_of_head(path: Path, head: bytes) -> str:
    """`detect` for a file whose decompressed content begins with `head`."""
    text = head.lstrip()
    if not text:
        raise ProfileError(f"{path} is empty; export the trace again.")
    if head.startswith(b"SQLite format 3\0"):
        return nsight_database.recognise(path)
    for magic, what, action in _MAGICS:
        if head.startswith(magic):
            raise ProfileError(f"{path} is {what}; {action}.")
    if head[_TAR_AT : _TAR_AT + len(_TAR)] == _TAR:
        raise ProfileError(f"{path} is a tar archive; unpack it and open the trace in it.")
    if _NSYS_REPORT in head[:4096] or path.suffix in (".nsys-rep", ".qdrep"):
        nsight_report.require_exporter(path)
        return "nsys-rep"
    if text[:1] in (b"{", b"["):
        return _json(path, text)
    if text[:1] == b"<":
        raise ProfileError(f"{path} is a web page, perhaps of a failed download; download the trace again.")
    if head.startswith(b"\x80") and b"device_traces" in head:
        raise ProfileError(f"{path} is a PyTorch memory snapshot; open a trace of torch.profiler instead.")
    if head[:1] == b"\x80" and head[1:2] in b"\2\3\4\5":
        raise ProfileError(
            f"{path} is a Python pickle, which can run programs and is never opened; open the trace of torch.profiler."
        )
    if head.startswith(b"\n") and _PLANE.search(head[: 1 << 20]):
        return "xplane"
    raise ProfileError(
        f"{path} is no trace that SMProf Desktop knows; open a PyTorch trace (.json or .json.gz) or a profile."
    )


def _json(path: Path, text: bytes) -> str:
    categories = {found[1].decode() for found in _CATEGORY.finditer(text)}
    events = b'"traceEvents"' in text
    if (events or text[:1] == b"[") and (categories & KINETO_CATEGORIES or (events and _KINETO_KEY.search(text))):
        return "kineto"
    if events or (text[:1] == b"[" and (_EVENT_FIELD.search(text) or text[1:].strip() == b"]")):
        return "chrome"
    if b'"nodes"' in text and b'"schema"' in text:
        raise ProfileError(
            f"{path} is a PyTorch execution trace, which has no times; open the trace of torch.profiler instead."
        )
    if b'"device_traces"' in text or (b'"segments"' in text and b'"total_size"' in text):
        raise ProfileError(f"{path} is a PyTorch memory snapshot; open a trace of torch.profiler instead.")
    if b'"nbformat"' in text and b'"cells"' in text:
        raise ProfileError(f"{path} is a Jupyter notebook; open the trace file that it wrote.")
    if _TIMELINE.match(text):
        raise ProfileError(
            f"{path} is a PyTorch memory timeline, which has no slices; open the trace of torch.profiler instead."
        )
    if len(text) >= HEAD_BYTES // 2 and text[:1] == b"{":
        # What a trace says about itself can be longer than the head; reading tells.
        return "kineto"
    raise ProfileError(
        f'{path} is JSON without a "traceEvents" list; open the file that the profiler\'s trace export wrote.'
    )
