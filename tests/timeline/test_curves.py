"""Text of values beside lanes."""

from __future__ import annotations

import pytest

from smprof_desktop.timeline.curves import value_text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (22.0, "%", "22 %"),
        (12.34e9, "bytes", "12.3 GB"),
        (512.0, "bytes", "512 B"),
        (71.5, "W", "71.5 W"),
        (1500.0, "W", "1.5 kW"),
        (1410.0, "MHz", "1410 MHz"),
        (3e9, "", "3 G"),
        (7.0, "", "7"),
    ],
)
def test_a_value_has_its_unit(value: float, unit: str, text: str) -> None:
    assert value_text(value, unit) == text
