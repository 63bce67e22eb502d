"""The local model: people who trust nobody send private reports; a server counts them. Shuffling; noise in shares."""

from discreet.local.best import best, compare
from discreet.local.consistency import on_simplex
from discreet.local.distributed import gaussian_shares, laplace_shares
from discreet.local.hadamard import hadamard
from discreet.local.hashing import local_hashing
from discreet.local.heavy_hitters import heavy_hitters
from discreet.local.means import mean
from discreet.local.rappor import rappor
from discreet.local.response import response
from discreet.local.shuffle import (
    LocalShuffler,
    Shuffler,
    largest_local,
    shuffled_closed_form,
    shuffled_event,
    shuffled_price,
)
from discreet.local.subset import subset_selection
from discreet.local.unary import basic_rappor, optimised_unary
from discreet.local.wire import Received, Server, received, to_bytes, to_json

__all__ = [
    "LocalShuffler",
    "Received",
    "Server",
    "Shuffler",
    "basic_rappor",
    "best",
    "compare",
    "gaussian_shares",
    "hadamard",
    "heavy_hitters",
    "laplace_shares",
    "largest_local",
    "local_hashing",
    "mean",
    "on_simplex",
    "optimised_unary",
    "rappor",
    "received",
    "response",
    "shuffled_closed_form",
    "shuffled_event",
    "shuffled_price",
    "subset_selection",
    "to_bytes",
    "to_json",
]
