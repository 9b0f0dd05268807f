"""Start the application as its command does, and print how long it took until the window was drawn and answered."""

from __future__ import annotations

import json
import os
import tempfile
import time

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication

from smprof_desktop import app


def main() -> None:
    """From the parent's clock before the process existed to the first idle moment after drawing."""
    begin_ns = int(os.environ["BENCH_BEGIN_NS"])
    run_loop = QApplication.exec
    seconds: list[float] = []

    def usable() -> None:
        seconds.append((time.monotonic_ns() - begin_ns) / 1e9)
        QApplication.quit()

    def loop() -> int:
        QApplication.processEvents()
        QTimer.singleShot(0, usable)
        return run_loop()

    QApplication.exec = staticmethod(loop)  # type: ignore[method-assign]
    with tempfile.TemporaryDirectory() as home:
        os.environ.update(HOME=home, XDG_CONFIG_HOME=home, XDG_CACHE_HOME=home, XDG_DATA_HOME=home)
        app.run([])
    print(json.dumps({"seconds": seconds[0]}))


if __name__ == "__main__":
    main()
