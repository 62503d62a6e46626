"""Uses of torch-hd: long random vectors that stand for things."""

import torchhd

LIBRARY = "torch-hd"


def bound_and_bundled() -> object:
    a = torchhd.random(6, 500)
    record = torchhd.multiset(torchhd.bind(a[:3], a[3:]))
    return torchhd.cosine_similarity(torchhd.bind(record, a[0].inverse()), a), torchhd.ngrams(a, n=2).sum()


def other_kinds() -> object:
    parts = []
    for kind in ("HRR", "FHRR", "BSC"):
        a = torchhd.random(4, 256, kind)
        parts.append(
            torchhd.cosine_similarity(torchhd.bundle(a[0], a[1]), a)
            if kind != "BSC"
            else torchhd.hamming_similarity(torchhd.bind(a[0], a[1]), a)
        )
    return parts
