"""The trips table of the benchmarks: made up, seeded, written to Parquet once and kept in ``bench/.data``.

    python -m bench.trips 1e6

Promise: the same rows for the same size, in chunks, so that memory stays near 1 GB at 1e8 rows. A user has about 20
rows, heavy-tailed (at 1e6 rows 10 %, 50 %, 90 %, 99 % of the users have at most 2, 9, 48, 182 rows; one has 2,500).
Amounts are heavy-tailed too: the mean is 17.5, or 15 after clamping to [0, 100].
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

FOLDER = Path(__file__).parent / ".data"
REGIONS = [f"region-{i:02}" for i in range(50)]
PRODUCTS = [f"product-{i:04}" for i in range(5000)]
DAYS = 365
CHUNK = 1_000_000
ROW_GROUP = 125_000
SEED = 20261115


def zipf(size: int, exponent: float) -> NDArray[np.float64]:
    """Chances that fall as a power of the rank."""
    weights = np.power(np.arange(1, size + 1, dtype=np.float64), -exponent)
    weights /= weights.sum()
    return weights


def draw(rng: np.random.Generator, chances: NDArray[np.float64], size: int) -> NDArray[np.int16]:
    return np.searchsorted(np.cumsum(chances)[:-1], rng.random(size), side="right").astype(np.int16)


def chunks(rows: int) -> Iterator[pa.Table]:
    """The table, a million rows at a time, in random order of the users."""
    rng = np.random.default_rng([SEED, rows])
    people = max(1, rows // 20)
    weights = rng.lognormal(0, 1.3, people)
    home = draw(rng, zipf(len(REGIONS), 1.5), people)
    users = np.repeat(np.arange(people, dtype=np.int32), rng.multinomial(rows, weights / weights.sum()))
    rng.shuffle(users)
    for start in range(0, rows, CHUNK):
        user = users[start : start + CHUNK]
        size = len(user)
        at_home = rng.random(size) < 0.55
        region = np.where(at_home, home[user], draw(rng, zipf(len(REGIONS), 1.5), size))
        yield pa.table(
            {
                "user_id": user.astype(np.int64),
                "region": pa.DictionaryArray.from_arrays(region, REGIONS),
                "product": pa.DictionaryArray.from_arrays(draw(rng, zipf(len(PRODUCTS), 1.15), size), PRODUCTS),
                "day": rng.integers(0, DAYS, size, dtype=np.int32),
                "amount": np.round(rng.lognormal(2.1, 1.24, size), 2),
                "rating": rng.choice(np.arange(1, 6, dtype=np.int32), size, p=[0.05, 0.1, 0.2, 0.35, 0.3]),
            }
        )


def trips(rows: int) -> Path:
    """The path of the table with so many rows; made first if it is not there."""
    path = FOLDER / f"trips-{rows:.0e}.parquet".replace("e+0", "e")
    if path.exists():
        return path
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / ".gitignore").write_text("*\n")
    part = path.with_suffix(f".{os.getpid()}")  # half a table never gets the name of a whole one
    writer = None
    for chunk in chunks(rows):
        # without the Arrow schema readers see text, not a dictionary type of Arrow's
        writer = writer or pq.ParquetWriter(part, chunk.schema, compression="zstd", store_schema=False)
        writer.write_table(chunk, row_group_size=ROW_GROUP)
    if writer is not None:
        writer.close()
    part.rename(path)
    return path


def main() -> None:
    for size in sys.argv[1:] or ["1e6"]:
        print(trips(int(float(size))))


if __name__ == "__main__":
    main()
