"""Names exactly as recorded, also where they are no valid text, and how such are shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

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


def ways_to_show(exact: str) -> tuple[str, ...]:
    """All that `shown` may show of an exact name, whatever stands beside it."""
    return (exact,) if _is_text(exact) else (_stand_in(exact), readable(exact))


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


MAX_DEMANGLED = 50_000
"""A symbol that would be about so long when it is made readable stays as it was recorded."""
FORMS = ("recorded", "demangled", "base")
"""How kernel names can be shown: as recorded, with C++ symbols made readable, or as the bare function."""


@lru_cache(maxsize=100_000)
def in_form(text: str, form: str) -> str:
    """A name in one of FORMS. What no rule understands stays as it was recorded."""
    if form == "recorded":
        return text
    whole = demangled(text)
    return base(whole) if form == "base" else whole


def demangled(text: str) -> str:
    """A mangled C++ symbol (Itanium ABI: `_Z…`) as C++; any other text, and a malformed symbol, as it is."""
    if not text.startswith(("_Z", "__Z")):
        return text
    import itanium_demangler  # imported late: most profiles hold no mangled name

    try:
        if "S" in text and _grows(text):
            return text
        tree = itanium_demangler.parse(text)
        return text if tree is None else str(tree)
    except Exception:
        # It raises whatever its parts raise on a symbol that it does not know, and any text may come here.
        return text


def _grows(text: str) -> bool:
    """Whether a mangled symbol repeats parts of itself within parts until it is too long to be written out.

    A symbol of 700 characters can double a part 50 times. Such a part stands once in what the parser builds first, but
    is copied each time afterwards: so the first step is done by itself, with an eye on how long each part would be.
    """
    from itanium_demangler import _Cursor, _parse_mangled_name

    sizes: dict[int, tuple[Any, int]] = {}  # the part as well: a number that is free again may become another's

    def size(part: Any) -> int:
        if isinstance(part, str):
            return len(part)
        if not isinstance(part, tuple):
            return 1
        if id(part) not in sizes:
            sizes[id(part)] = part, 1 + sum(map(size, part))
        return sizes[id(part)][1]

    class Cursor(_Cursor):  # type: ignore[misc]
        def add_subst(self, node: Any) -> None:
            if size(node) > MAX_DEMANGLED:
                raise _TooLong
            super().add_subst(node)

    try:
        _parse_mangled_name(Cursor(text))
    except _TooLong:
        return True
    return False


class _TooLong(Exception):
    """A symbol would be longer than MAX_DEMANGLED."""


def base(text: str) -> str:
    """The bare function of a C++ signature: without return type, template arguments, parameters and what stands behind.

    `void at::native::copy<int, 4>(int*)` is `at::native::copy`; a text that is no such signature stays as it is.
    """
    outside: list[str] = []
    depth = 0
    position = 0
    while position < len(text):
        character = text[position]
        if text.startswith("(anonymous namespace)", position) and depth == 0:
            outside.append("(anonymous namespace)")
            position += len("(anonymous namespace)")
            continue
        if character == "(" and depth == 0 and outside:
            break
        if character == "<":
            depth += 1
        elif character == ">" and depth:
            depth -= 1
        elif depth == 0:
            outside.append(character)
        position += 1
    if depth or not outside:
        return text
    # A return type stands before the last space that is not inside a name such as `(anonymous namespace)`.
    parts = "".join(outside).replace("(anonymous namespace)", "\0").split(" ")
    name = parts[-1].replace("\0", "(anonymous namespace)") if "".join(parts[-1:]) else "".join(outside).strip()
    return name or text
