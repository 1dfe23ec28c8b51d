import numpy as np
import pyqtgraph as pg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PySide6.QtCore import QRectF
from PySide6.QtGui import QBrush, QColor, QImage, QPainter

from tensorscope.views.items.rect_batch_item import RectBatchItem


class CountingPainter(QPainter):
    """Counts what is drawn, and still draws it."""

    def __init__(self, device):
        super().__init__(device)
        self.calls = 0
        self.rects = 0

    def drawRects(self, first, count):
        self.calls += 1
        self.rects += count
        super().drawRects(first, count)


@pytest.fixture
def item(qtbot, monkeypatch):
    batch = RectBatchItem()
    batch.set_brushes([QBrush(QColor("red")), QBrush(QColor("blue"))])
    monkeypatch.setattr(batch, "viewRect", lambda: QRectF(0, 0, 100, 100))
    return batch


def paint(batch):
    image = QImage(100, 100, QImage.Format.Format_RGB32)
    image.fill(0)
    painter = CountingPainter(image)
    batch.paint(painter, None)
    painter.end()
    return painter, image


def test_that_each_class_is_one_call_whatever_the_number_of_rectangles(item):
    n = 50_000
    rng = np.random.default_rng(0)
    x, y = rng.uniform(0, 100, n), rng.uniform(0, 100, n)
    item.set_rects(x, x + 1, y, y + 1, rng.integers(0, 2, n).astype(np.uint8))
    painter, _ = paint(item)
    assert (painter.calls, painter.rects) == (2, n)


def test_that_rectangles_outside_the_view_are_not_drawn(item):
    x = np.array([10.0, 500.0, -500.0])
    item.set_rects(x, x + 5, np.zeros(3), np.ones(3), np.zeros(3, np.uint8))
    painter, _ = paint(item)
    assert (painter.calls, painter.rects) == (1, 1)


def test_that_a_rectangle_a_billion_views_wide_is_still_seen(item):
    one = np.ones(1)
    item.set_rects(one * -1e11, one * 1e11, one * 20, one * 80, np.ones(1, np.uint8))
    _, image = paint(item)
    assert image.pixelColor(50, 50) == QColor("blue")
    assert image.pixelColor(50, 10) == QColor("black")


def test_that_an_empty_batch_paints_nothing_in_a_real_plot(qtbot):
    plot = pg.PlotWidget()
    qtbot.addWidget(plot)
    plot.addItem(RectBatchItem())
    assert not plot.grab().isNull()


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.lists(st.tuples(*[st.integers(0, 20)] * 4), min_size=1, max_size=30),
    st.integers(0, 40),
    st.integers(0, 40),
)
def test_that_the_hit_test_equals_a_search_of_every_rectangle(item, rects, x, y):
    x0, y0, w, h = np.array(rects, dtype=float).T
    item.set_rects(x0, x0 + w, y0, y0 + h, np.zeros(len(rects), np.uint8))
    hits = [i for i, (a, b, c, d) in enumerate(rects) if a <= x < a + c and b <= y < b + d]
    assert item.row_at(x, y) == (hits[-1] if hits else -1)
