"""The system's bits: right sizes, fresh in every fork, process and thread, and the only ones a release may use."""

import inspect
import json
import os
import pickle
import subprocess
import sys
import threading
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from discreet import randomness
from discreet.errors import BadParameter, UnsafeRandomness
from discreet.noise import discrete_laplace
from discreet.randomness import Bits, Recorder, Replay, SystemBits, exact_law, for_release, words
from discreet.randomness.source import uniform_below
from tests.helpers.gates import distance

# Noise of scale 2^53: two of these 8 x 400 values agree with probability below 3200^2/2 x 2^-54 < 3e-10.
SCALE, DRAWS = 1 << 53, 400


def share_nothing(runs: list[list[int]]) -> bool:
    return all(not set(a) & set(b) for a, b in combinations(runs, 2)) and all(len(set(a)) == len(a) for a in runs)


def python(code: str, **environment: str) -> Any:
    """What a fresh interpreter prints, as JSON."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
        env={**os.environ, **environment},
    )
    return json.loads(done.stdout)


FORKS = f"""
import json, os
from discreet.noise import discrete_laplace
from discreet.randomness import SystemBits
bits = SystemBits()
discrete_laplace({SCALE}, size={DRAWS}); bits.bits(64)  # whatever state there might be exists before the fork
readers = []
for _ in range(8):
    read, write = os.pipe()
    if os.fork() == 0:
        drawn = [bits.bits(64), *discrete_laplace({SCALE}, size={DRAWS}).tolist(), discrete_laplace({SCALE})]
        with os.fdopen(write, "w") as out:
            json.dump(drawn, out)
        os._exit(0)
    os.close(write)
    readers.append(read)
runs = []
for read in readers:
    with os.fdopen(read) as found:
        runs.append(json.load(found))
for _ in readers:
    os.wait()
print(json.dumps(runs))
"""

SPAWN = f"""
import json, pickle, sys
from discreet.noise import discrete_laplace
bits = pickle.loads(bytes.fromhex(sys.argv[1]))
print(json.dumps([bits.bits(64), *discrete_laplace({SCALE}, size={DRAWS}).tolist(), discrete_laplace({SCALE})]))
"""

TWIN = """
import json, os
import numpy as np
generator = np.random.default_rng()
generator.laplace()
readers = []
for _ in range(8):
    read, write = os.pipe()
    if os.fork() == 0:
        with os.fdopen(write, "w") as out:
            json.dump([int(x) for x in generator.laplace(scale=2**53, size=400)], out)
        os._exit(0)
    os.close(write)
    readers.append(read)
runs = []
for read in readers:
    with os.fdopen(read) as found:
        runs.append(json.load(found))
for _ in readers:
    os.wait()
print(json.dumps(runs))
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_forks_share_nothing() -> None:
    runs = python(FORKS)
    assert len(runs) == 8
    assert share_nothing(runs)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_forks_of_a_generator_with_a_state_are_caught() -> None:
    """The planted twin: attack C16 on a numpy generator."""
    assert not share_nothing(python(TWIN))


@pytest.mark.slow
def test_spawned_processes_share_nothing() -> None:
    packed = pickle.dumps(SystemBits()).hex()  # one source goes to all of them
    command = [sys.executable, "-c", SPAWN, packed]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(8)]
    runs = [json.loads(process.communicate(timeout=120)[0]) for process in started]
    assert share_nothing(runs)


def test_threads_share_nothing() -> None:
    runs: list[list[int]] = []
    gate = threading.Barrier(8)
    bits = SystemBits()

    def draw() -> None:
        gate.wait()
        runs.append([bits.bits(64), *discrete_laplace(SCALE, size=DRAWS).tolist()])

    threads = [threading.Thread(target=draw) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(runs) == 8
    assert share_nothing(runs)


def test_pickling_shares_nothing() -> None:
    bits = SystemBits()
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        packed = pickle.dumps(bits, protocol)
        again = [pickle.loads(packed) for _ in range(2)]  # noqa: S301
        assert all(type(copy) is SystemBits for copy in again)
        assert share_nothing([[copy.bits(64) for _ in range(20)] for copy in (bits, *again)])


SEEDED = f"""
import json, random
import numpy as np
random.seed(0)
np.random.seed(0)
from discreet.noise import discrete_laplace
random.seed(0)
np.random.seed(0)
print(json.dumps([*discrete_laplace({SCALE}, size={DRAWS}).tolist(), discrete_laplace({SCALE}), hash("a")]))
"""


@pytest.mark.slow
def test_every_seed_there_is_changes_nothing() -> None:
    """Attack C17: the same seeds and the same PYTHONHASHSEED in two fresh processes."""
    environment = {"PYTHONHASHSEED": "0", "SEED": "0", "RANDOM_SEED": "0", "NUMPY_SEED": "0", "DISCREET_SEED": "0"}
    first, second = (python(SEEDED, **environment) for _ in range(2))
    assert first.pop() == second.pop()  # the seeds did arrive
    assert share_nothing([first, second])


def test_a_source_has_no_state() -> None:
    bits = SystemBits()
    assert not hasattr(bits, "__dict__")
    assert SystemBits.__slots__ == ()
    assert list(inspect.signature(SystemBits).parameters) == []
    with pytest.raises(TypeError):
        SystemBits(7)  # type: ignore[call-arg]
    with pytest.raises(AttributeError):
        bits.seed = 7  # type: ignore[attr-defined]


def test_no_public_function_takes_a_seed() -> None:
    for name in randomness.__all__:
        thing = getattr(randomness, name)
        functions = [thing] if callable(thing) else [f for _, f in inspect.getmembers(thing, inspect.isfunction)]
        for function in functions:
            try:
                parameters = inspect.signature(function).parameters
            except ValueError:
                continue
            assert not any("seed" in p.lower() or p in {"rng", "random_state", "generator"} for p in parameters)


# --- the bits themselves ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [0, 1, 7, 8, 255, 256, 257, 1000, 1 << 20])
def test_bytes_have_their_length_and_never_repeat(count: int) -> None:
    """Two equal strings of 32 bytes or more: below 2^-256."""
    bits = SystemBits()
    a, b = bits.bytes(count), bits.bytes(count)
    assert len(a) == len(b) == count
    assert count < 32 or a != b


@pytest.mark.parametrize("count", [0, 1, 2, 7, 8, 9, 15, 16, 17, 63, 64, 65, 1000, 5000])
def test_bits_reach_every_place(count: int) -> None:
    """Each place is 0 in one of 100 draws and 1 in another, or fails with probability 5000 x 2^-99 < 1e-26."""
    draws = [SystemBits().bits(count) for _ in range(100)]
    ones = zeros = 0
    for draw in draws:
        assert 0 <= draw < 1 << count
        ones |= draw
        zeros |= ~draw & (1 << count) - 1
    assert ones == zeros == (1 << count) - 1


@pytest.mark.parametrize("count", [200, 4000])
def test_bytes_are_even(count: int) -> None:
    """Straight from the system, and stretched; every value of a byte; false alarm 1e-9."""
    data = b"".join(SystemBits().bytes(count) for _ in range(400_000 // count))
    assert distance(np.bincount(np.frombuffer(data, dtype=np.uint8), minlength=256).tolist(), [1 / 256] * 256) < 1
    biased = bytes(b | (1 if i % 10 == 0 else 0) for i, b in enumerate(data))  # a twentieth of the bytes moved
    assert distance(np.bincount(np.frombuffer(biased, dtype=np.uint8), minlength=256).tolist(), [1 / 256] * 256) > 1


def test_a_large_call_takes_a_fresh_key(monkeypatch: pytest.MonkeyPatch) -> None:
    keys: list[bytes] = []
    real = os.urandom

    def noted(count: int) -> bytes:
        keys.append(real(count))
        return keys[-1]

    monkeypatch.setattr(os, "urandom", noted)
    for _ in range(3):
        SystemBits().bytes(10_000)
    assert [len(key) for key in keys] == [48] * 3
    assert len(set(keys)) == 3


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.uint32, np.uint64])
def test_words(kind: Any) -> None:
    drawn = words(SystemBits(), 1000, kind)
    assert drawn.dtype == kind
    assert len(drawn) == 1000
    assert not drawn.flags.writeable
    assert len(words(SystemBits(), 0, kind)) == 0
    assert np.bitwise_or.reduce(drawn) == np.iinfo(kind).max  # misses: 64 x 2^-1000


@pytest.mark.parametrize("n", [0, -1, -5])
def test_below_nothing_is_refused_not_awaited(n: int) -> None:
    for source in (SystemBits(), Replay(value=0, length=64)):
        with pytest.raises(BadParameter):
            source.below(n)


def test_below_one_needs_no_luck() -> None:
    assert SystemBits().below(1) == 0
    assert uniform_below(Replay(value=0, length=0), 1) == 0


# --- what a release may use ---------------------------------------------------------------------------------------


class Subclass(SystemBits):
    """Could override anything."""


class Duck:
    """Says that it is the system's source."""

    __class__ = SystemBits  # type: ignore[assignment]

    def bytes(self, count: int) -> bytes:
        return bytes(count)

    def bits(self, count: int) -> int:
        return 0

    def below(self, n: int) -> int:
        return 0


FAKES: list[Any] = [
    Replay(value=5, length=64),
    Replay.of_bytes(b"abc"),
    Recorder(SystemBits()),
    Recorder(Recorder(SystemBits())),
    Subclass(),
    Duck(),
    SystemBits,
    None,
    np.random.default_rng(),
]


@pytest.mark.parametrize("fake", FAKES, ids=lambda f: type(f).__name__)
def test_a_release_refuses_every_other_source(fake: Bits) -> None:
    with pytest.raises(UnsafeRandomness):
        for_release(fake)


def test_a_release_takes_the_systems() -> None:
    bits = SystemBits()
    assert for_release(bits) is bits


def test_a_duck_passes_for_the_system_where_only_isinstance_looks() -> None:
    """Why ``for_release`` compares types: the planted fake defeats isinstance."""
    assert isinstance(Duck(), SystemBits)
    assert exact_law(lambda bits: bits.below(2), depth=1)[1] == 0
