"""Draw list → QPainter on an OpenGL context: the masses as instances of one rectangle, all else by Qt's own engine.

Needs OpenGL 3.3 core or OpenGL ES 3.0. Vertices carry whole device pixels, so that edges fall where the raster painter
has them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PySide6.QtCore import QRect, QSize
from PySide6.QtGui import QFont, QOpenGLContext, QOpenGLExtraFunctions, QPainter, QSurfaceFormat
from PySide6.QtOpenGL import QOpenGLBuffer, QOpenGLShader, QOpenGLShaderProgram, QOpenGLVertexArrayObject

from smprof_desktop import resources
from smprof_desktop.timeline.colours import Theme
from smprof_desktop.timeline.draw_list import Rects
from smprof_desktop.timeline.paint_frame import FramePainter, PaintFault, on_device

SAMPLES = 4
"""What Qt's engine smooths arrows by; edges on whole pixels stay sharp."""
MAX_STALE_ERRORS = 16

_VERSIONS = {False: "#version 330 core\n", True: "#version 300 es\nprecision highp float;\nprecision highp int;\n"}
_INSTANCE = np.dtype([("edges", np.float32, 4), ("colour", np.uint8, 4)])
_EDGES, _COLOUR = 0, 1
"""Locations of the attributes."""
_GL_FLOAT, _GL_UNSIGNED_BYTE, _GL_TRIANGLE_STRIP = 0x1406, 0x1401, 0x0005
_GL_SCISSOR_TEST, _GL_BLEND, _GL_DEPTH_TEST, _GL_STENCIL_TEST = 0x0C11, 0x0BE2, 0x0B71, 0x0B90
_GL_FRAMEBUFFER, _GL_FRAMEBUFFER_COMPLETE = 0x8D40, 0x8CD5
_GL_RENDERER = 0x1F01


class GlPainter(FramePainter):
    """Fills the masses by instanced drawing. Raises PaintFault from `paint` where the context fails."""

    def __init__(self, theme: Theme, font: QFont, batch: RectBatch) -> None:
        super().__init__(theme, font)
        self._batch = batch
        self._colours = np.array([(*fill, 255) for fill in theme.fills], np.uint8)

    def _fill(self, masses: list[tuple[Rects, QRect]], painter: QPainter) -> None:
        ratio = painter.device().devicePixelRatio()
        device = painter.device()
        size = QSize(*(int(side_px * ratio + 0.5) for side_px in (device.width(), device.height())))  # as Qt rounds
        parts = []
        for rects, clip in masses:
            edges, colours = on_device(rects, ratio)
            parts.append((instances(edges, self._colours[colours]), clip))
        painter.beginNativePainting()
        try:
            self._batch.draw(parts, size)
        finally:
            painter.endNativePainting()


class RectBatch:
    """The program and buffers that draw rectangles, made anew for each context that they are used in."""

    def __init__(self) -> None:
        self._context: QOpenGLContext | None = None
        self._program: QOpenGLShaderProgram | None = None
        self._instances = QOpenGLBuffer(QOpenGLBuffer.Type.VertexBuffer)
        self._layout: QOpenGLVertexArrayObject | None = None
        self._size = QSize()
        self._size_at = self._clip_at = -1

    def draw(self, parts: Sequence[tuple[NDArray[np.void], QRect]], size: QSize) -> None:
        """Draw instances, each within its clip, into the current context's framebuffer of that size.

        Raises PaintFault where there is no context, or where it fails.
        """
        context = QOpenGLContext.currentContext()
        if context is None or not context.isValid():
            raise PaintFault("the graphics driver took its context away")
        functions = context.extraFunctions()
        _drop_stale_errors(functions)
        if context is not self._context:
            self._make(context)
        if size != self._size:
            if functions.glCheckFramebufferStatus(_GL_FRAMEBUFFER) != _GL_FRAMEBUFFER_COMPLETE:
                raise PaintFault("the graphics driver has no framebuffer of this size")
            self._size = size
        self._draw(functions, parts)
        error = functions.glGetError()
        if error:
            raise PaintFault(f"the graphics driver reports error 0x{error:04x}")

    def _make(self, context: QOpenGLContext) -> None:
        """Program, buffer and their layout for a context, which is current."""
        functions = context.extraFunctions()
        program = QOpenGLShaderProgram()
        for kind, name in (
            (QOpenGLShader.ShaderTypeBit.Vertex, "shaders/rects.vert"),
            (QOpenGLShader.ShaderTypeBit.Fragment, "shaders/rects.frag"),
        ):
            text = _VERSIONS[context.isOpenGLES()] + resources.path(name).read_text("utf-8")
            if not program.addShaderFromSourceCode(kind, text):
                raise PaintFault("the graphics driver does not take the timeline's shaders")
        program.bindAttributeLocation("edges", _EDGES)
        program.bindAttributeLocation("colour", _COLOUR)
        if not program.link():
            raise PaintFault("the graphics driver does not link the timeline's shaders")
        layout = QOpenGLVertexArrayObject()
        instances = QOpenGLBuffer(QOpenGLBuffer.Type.VertexBuffer)
        instances.setUsagePattern(QOpenGLBuffer.UsagePattern.StreamDraw)
        if not (layout.create() and instances.create() and instances.bind()):
            raise PaintFault("the graphics driver gives the timeline no buffers")
        layout.bind()
        for location, kind_of, offset in ((_EDGES, _GL_FLOAT, 0), (_COLOUR, _GL_UNSIGNED_BYTE, 16)):
            # Bytes come out as 0 to 1: Qt asks for that of all that is not a float.
            program.setAttributeBuffer(location, kind_of, offset, 4, _INSTANCE.itemsize)
            functions.glEnableVertexAttribArray(location)
            functions.glVertexAttribDivisor(location, 1)
        layout.release()
        instances.release()
        self._size_at, self._clip_at = program.uniformLocation("size"), program.uniformLocation("clip")
        context.aboutToBeDestroyed.connect(self._forget)
        self._context, self._size = context, QSize()
        self._program, self._instances, self._layout = program, instances, layout

    def _draw(self, functions: QOpenGLExtraFunctions, parts: Sequence[tuple[NDArray[np.void], QRect]]) -> None:
        program, layout, instances = self._program, self._layout, self._instances
        assert program is not None and layout is not None
        for capability in (_GL_SCISSOR_TEST, _GL_BLEND, _GL_DEPTH_TEST, _GL_STENCIL_TEST):
            functions.glDisable(capability)
        program.bind()
        program.setUniformValue(self._size_at, float(self._size.width()), float(self._size.height()))
        layout.bind()
        instances.bind()
        for part, clip in parts:
            right, bottom = clip.x() + clip.width(), clip.y() + clip.height()
            program.setUniformValue(self._clip_at, float(clip.x()), float(clip.y()), float(right), float(bottom))
            instances.allocate(part.tobytes(), part.nbytes)
            functions.glDrawArraysInstanced(_GL_TRIANGLE_STRIP, 0, 4, len(part))
        instances.release()
        layout.release()
        program.release()

    def _forget(self) -> None:
        """The context goes, and takes along what was made in it."""
        self._context = self._program = self._layout = None
        self._instances = QOpenGLBuffer(QOpenGLBuffer.Type.VertexBuffer)


def instances(edges: ArrayLike, rgba: ArrayLike) -> NDArray[np.void]:
    """What a `RectBatch` draws: the left, top, right and bottom of each rectangle and its colour in bytes."""
    edges = np.asarray(edges)
    made = np.empty(len(edges), _INSTANCE)
    made["edges"] = edges
    made["colour"] = rgba
    return made


def surface_format() -> QSurfaceFormat:
    """What the painter needs of a context and its framebuffer."""
    wanted = QSurfaceFormat()
    if QOpenGLContext.openGLModuleType() == QOpenGLContext.OpenGLModuleType.LibGL:
        wanted.setVersion(3, 3)
        wanted.setProfile(QSurfaceFormat.OpenGLContextProfile.CoreProfile)
    else:
        wanted.setVersion(3, 0)
    wanted.setStencilBufferSize(8)
    wanted.setSamples(SAMPLES)
    return wanted


def renderer_of(context: QOpenGLContext) -> str:
    """What the current context says it draws with, in the driver's words."""
    return str(context.functions().glGetString(_GL_RENDERER) or "")


def _drop_stale_errors(functions: QOpenGLExtraFunctions) -> None:
    """Errors of before are not ours. A lost context reports its own without end."""
    for _ in range(MAX_STALE_ERRORS):
        if not functions.glGetError():
            return
    raise PaintFault("the graphics driver lost its context")
