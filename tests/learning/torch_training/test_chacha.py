"""ChaCha20 on tensors: the RFC's own vectors, and another implementation's stream."""

import struct

import torch
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms

from discreet.learning.torch_training.chacha import as_words, chacha_blocks, fresh_key, key_tensor, uniform_words


def test_the_vector_of_the_standard() -> None:
    """RFC 8439, section 2.3.2."""
    key = struct.unpack("<8i", bytes(range(32))) + struct.unpack("<3i", bytes.fromhex("000000090000004a00000000"))
    block = chacha_blocks(torch.tensor([1], dtype=torch.int32), key_tensor(key, "cpu"))
    words = [int(w) & 0xFFFFFFFF for w in block]
    assert words[:4] == [0xE4E7F110, 0x15593BD1, 0x1FDD0F50, 0xC47120A3]
    assert words[-1] == 0x4E3C50A2


def test_the_stream_of_another_implementation() -> None:
    key = fresh_key()
    raw = struct.pack("<11i", *key)
    stream = Cipher(algorithms.ChaCha20(raw[:32], bytes(4) + raw[32:]), mode=None).encryptor().update(bytes(64 * 5))
    blocks = torch.stack(chacha_blocks(torch.arange(5, dtype=torch.int32), key_tensor(key, "cpu")))
    assert struct.pack("<80i", *blocks.T.flatten().tolist()) == stream
    words = torch.stack(as_words(chacha_blocks(torch.arange(5, dtype=torch.int32), key_tensor(key, "cpu"))))
    assert struct.pack("<40q", *words.T.flatten().tolist()) == stream


def test_keys_are_fresh() -> None:
    assert fresh_key() != fresh_key()
    assert not torch.equal(uniform_words(20, "cpu"), uniform_words(20, "cpu"))
    for count in (0, 3, 5000):
        words = uniform_words(count, "cpu")
        assert words.shape == (count,)
        assert len(words.unique()) == count
