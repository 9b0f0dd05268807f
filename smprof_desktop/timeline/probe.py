"""What OpenGL there is, found out in a child process: a broken driver may end the process that asks it.

`python -m smprof_desktop.timeline.probe` draws a small picture as the painter does, looks at it, and writes a line of
JSON: `renderer` (the driver's words) and `fault` (why it cannot be used, as the middle of a sentence, or empty).
"""

from __future__ import annotations

import json
import sys

from PySide6.QtCore import QRect, QSize
from PySide6.QtGui import QColor, QGuiApplication, QOffscreenSurface, QOpenGLContext
from PySide6.QtOpenGL import QOpenGLFramebufferObject, QOpenGLFramebufferObjectFormat

from smprof_desktop.timeline.paint_frame import PaintFault
from smprof_desktop.timeline.paint_gl import SAMPLES, RectBatch, instances, renderer_of, surface_format

SIDE_PX = 16
INK = (200, 100, 50, 255)
_GL_COLOR_BUFFER_BIT = 0x4000


def answer() -> dict[str, str]:
    """What there is. Needs a QGuiApplication."""
    context = QOpenGLContext()
    context.setFormat(surface_format())
    surface = QOffscreenSurface()
    if not context.create():
        return {"renderer": "", "fault": "there is none"}
    surface.setFormat(context.format())
    surface.create()
    if not context.makeCurrent(surface):
        return {"renderer": "", "fault": "there is none"}
    renderer = renderer_of(context)
    try:
        _need_version(context)
        _need_right_picture(context)
        fault = ""
    except PaintFault as reason:
        fault = str(reason)
    finally:
        context.doneCurrent()
    return {"renderer": renderer, "fault": fault}


def main() -> int:
    """Answer on standard output."""
    application = QGuiApplication(["smprof-desktop"])
    print(json.dumps(answer()), flush=True)
    del application
    return 0


def _need_version(context: QOpenGLContext) -> None:
    """Qt may be given less than it asked for."""
    has, needs = context.format().version(), ((3, 0) if context.isOpenGLES() else (3, 3))
    if tuple(has) < needs:
        raise PaintFault(f"its OpenGL is {has[0]}.{has[1]}, not {needs[0]}.{needs[1]}")


def _need_right_picture(context: QOpenGLContext) -> None:
    """Draw a square, cut by a clip, and look at every pixel."""
    wanted = QOpenGLFramebufferObjectFormat()
    wanted.setAttachment(QOpenGLFramebufferObject.Attachment.CombinedDepthStencil)
    wanted.setSamples(SAMPLES)
    target = QOpenGLFramebufferObject(SIDE_PX, SIDE_PX, wanted)
    if not target.isValid() or not target.bind():
        raise PaintFault("the graphics driver has no framebuffer for the timeline")
    functions = context.functions()
    functions.glViewport(0, 0, SIDE_PX, SIDE_PX)
    functions.glClearColor(0.0, 0.0, 0.0, 1.0)
    functions.glClear(_GL_COLOR_BUFFER_BIT)
    square, clip = (2, 3, 12, 13), QRect(5, 0, SIDE_PX, 11)
    RectBatch().draw([(instances([square], [INK]), clip)], QSize(SIDE_PX, SIDE_PX))
    image = target.toImage()
    target.release()
    seen = QRect(2, 3, 10, 10).intersected(clip)
    for y_px in range(SIDE_PX):
        for x_px in range(SIDE_PX):
            wanted_colour = QColor(*INK) if seen.contains(x_px, y_px) else QColor(0, 0, 0)
            if image.pixelColor(x_px, y_px).rgb() != wanted_colour.rgb():
                raise PaintFault("the graphics driver draws wrongly")


if __name__ == "__main__":
    sys.exit(main())
