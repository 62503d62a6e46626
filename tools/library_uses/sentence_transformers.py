"""Uses of sentence-transformers: pooling, likeness and a loss, without downloaded weights."""

import torch
from sentence_transformers import util
from sentence_transformers.models import Dense, Normalize, Pooling

LIBRARY = "sentence-transformers"


def pooled_tokens() -> object:
    given = {"token_embeddings": torch.randn(2, 5, 8), "attention_mask": torch.ones(2, 5).long()}
    given["attention_mask"][0, 3:] = 0
    for layer in (Pooling(8, pooling_mode="mean"), Dense(8, 4), Normalize()):
        given = layer(given)
    return given["sentence_embedding"]


def likeness_and_search() -> object:
    a, b = torch.randn(3, 8), torch.randn(5, 8)
    hits = util.semantic_search(a, b, top_k=2)
    return util.cos_sim(a, b), [[h["corpus_id"], h["score"]] for row in hits for h in row]
