"""Names exactly as recorded, also where they are no valid text, and how such are shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from smprof.profile.reader import ProcessProfile


def exact_texts(process: ProcessProfile) -> list[str]:
    """The names of a process by id, equal only where the recorded bytes are equal.

    Bytes that are no UTF-8 stand in them as lone surrogates ("surrogateescape"): two names with the same stand-in stay
    two. To be shown they go through `shown`.
    """
    texts = process.names.texts
    raw = process.table("names").arrow("raw")
    if raw.null_count == len(raw):
        return texts
    texts = list(texts)
    for name_id in np.flatnonzero(raw.is_valid().to_numpy(zero_copy_only=False)).tolist():
        texts[name_id] = raw[name_id].as_py().decode("utf-8", "surrogateescape")
    return texts


def shown(exact: Iterable[str]) -> dict[str, str]:
    """For each of these exact names that is no valid text, what to show: its stand-in, as everywhere else.

    Where names share a stand-in, the bytes that are no text are written out: `k\\xff`.
    """
    exact = set(exact)
    stand_ins = {name: _stand_in(name) for name in exact if not _is_text(name)}
    uses = Counter(stand_ins.values())
    return {
        name: readable(name) if uses[stand_in] > 1 or stand_in in exact else stand_in
        for name, stand_in in stand_ins.items()
    }


def readable(text: str) -> str:
    """`text` with each lone surrogate written out: as the byte that it stands for (`\\xff`), else by its number."""
    if _is_text(text):
        return text
    return "".join(map(_written_out, text))


def _written_out(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return f"\\u{code:04x}" if 0xD800 <= code <= 0xDFFF else character


def _stand_in(name: str) -> str:
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _is_text(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
