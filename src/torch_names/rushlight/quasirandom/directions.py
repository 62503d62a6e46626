"""The direction numbers of Sobol's sequences, from the packed table of Joe and Kuo beside this file.

A dimension has a primitive polynomial of some degree s over the field of two elements, and s odd numbers of
1, 2, ..., s bits. The file holds, dimension after dimension and without gaps, the inner bits of the polynomial
and the bits of each number, the lowest first; bits that are always one are left out. NOTICE.directions says whose they are.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

BITS = 30
# How many dimensions have polynomials of degree 1, 2, ...; the dimension before them needs none.
_OF_DEGREE = (1, 1, 2, 2, 6, 6, 18, 16, 48, 60, 176, 144, 630, 756, 1800, 2048, 7710, 7776)
DIMENSIONS = 1 + sum(_OF_DEGREE)


def direction_numbers(dimensions: int) -> np.ndarray:
    """Of each dimension the numbers that are xor-ed into a point, (dimensions, BITS) in int64."""
    made = np.ones((dimensions, BITS), np.int64)
    packed = np.fromfile(Path(__file__).with_name("directions.bin"), np.uint8)
    table = np.unpackbits(packed)
    start, row = 0, 1
    for degree, count in enumerate(_OF_DEGREE, 1):
        width = degree - 1 + degree * (degree - 1) // 2
        count = min(count, dimensions - row)
        if count <= 0:
            break
        bits = table[start : start + count * width].reshape(count, width).astype(np.int64)
        made[row : row + count] = _recurrence(bits, degree)
        start, row = start + count * width, row + count
    return made << np.arange(BITS - 1, -1, -1)


def _recurrence(bits: np.ndarray, degree: int) -> np.ndarray:
    """The numbers m_1, m_2, ... of dimensions of one degree: the first are given, the others follow from them."""
    m = np.ones((len(bits), BITS), np.int64)
    at = degree - 1
    for i in range(1, degree):
        m[:, i] += (bits[:, at : at + i] << np.arange(1, i + 1)).sum(1)
        at += i
    for i in range(degree, BITS):
        m[:, i] = m[:, i - degree] ^ (m[:, i - degree] << degree)
        for k in range(1, degree):
            # bits[:, k - 1] is the coefficient of x^k, and the recurrence reads the highest first
            m[:, i] ^= bits[:, degree - k - 1] * (m[:, i - k] << k)
    return m
