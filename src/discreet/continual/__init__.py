"""Answers over time: running totals, windows, histograms and alarms, each at one price for the whole stream."""

from discreet.continual.alarms import crossing, leaders
from discreet.continual.counter import Method, counter
from discreet.continual.histogram import histogram
from discreet.continual.record import MemoryRecord, Record
from discreet.continual.windows import decayed, window, window_accuracy

__all__ = [
    "MemoryRecord",
    "Method",
    "Record",
    "counter",
    "crossing",
    "decayed",
    "histogram",
    "leaders",
    "window",
    "window_accuracy",
]
