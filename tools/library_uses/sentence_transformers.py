"""Uses of sentence-transformers: pooling, likeness, sentences encoded and a model trained, without downloaded weights."""

from pathlib import Path

import torch
from sentence_transformers import InputExample, SentenceTransformer, SparseEncoder, losses, util
from sentence_transformers.evaluation import EmbeddingSimilarityEvaluator, InformationRetrievalEvaluator
from sentence_transformers.models import Dense, Normalize, Pooling, Transformer
from sentence_transformers.sparse_encoder.models import MLMTransformer, SpladePooling
from transformers import BertConfig, BertForMaskedLM, BertModel, BertTokenizer

LIBRARY = "sentence-transformers"
REQUIRES = ["accelerate", "datasets"]

WORDS = "[PAD] [UNK] [CLS] [SEP] [MASK] a the cat dog sat ran on mat road and slept".split()
SENTENCES = ["the cat sat on the mat", "a dog ran", "the dog and the cat slept", "a cat slept"]


def _tiny() -> SentenceTransformer:
    """A BERT of two layers with random weights, and the mean of its tokens."""
    folder = Path("bert")
    folder.mkdir()
    (folder / "vocab.txt").write_text("\n".join(WORDS))
    BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)
    config = BertConfig(
        vocab_size=len(WORDS), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=32, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    BertModel(config).save_pretrained(folder)
    words = Transformer(str(folder), max_seq_length=16)
    pooling = Pooling(words.get_word_embedding_dimension())
    return SentenceTransformer(modules=[words, pooling], device="cpu")


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


def sentences_encoded() -> object:
    model = _tiny()
    found = model.encode(SENTENCES, batch_size=2, convert_to_tensor=True)
    return found, model.similarity(found, found), model.encode("a cat", normalize_embeddings=True)


def a_model_trained() -> object:
    model = _tiny()
    pairs = [(0, 2, 0.8), (1, 3, 0.2), (2, 3, 0.6), (0, 1, 0.1)]
    batch = [InputExample(texts=[SENTENCES[i], SENTENCES[j]], label=y) for i, j, y in pairs]
    loss = losses.CosineSimilarityLoss(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    seen = []
    for _ in range(5):
        features, labels = model.smart_batching_collate(batch)
        value = loss(features, labels)
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
        seen.append(value.item())
    return seen, model.encode(SENTENCES[:2])


def with_its_trainer() -> object:
    from datasets import Dataset
    from sentence_transformers import SentenceTransformerTrainer, SentenceTransformerTrainingArguments

    rows = {"anchor": SENTENCES[:2] * 4, "positive": SENTENCES[2:] * 4}
    model = _tiny()
    arguments = SentenceTransformerTrainingArguments(
        output_dir="out", max_steps=4, per_device_train_batch_size=4, learning_rate=1e-3, logging_steps=1,
        report_to=[], save_strategy="no", use_cpu=True, disable_tqdm=True, seed=0,
    )  # fmt: skip
    loss = losses.MultipleNegativesRankingLoss(model)
    trainer = SentenceTransformerTrainer(model=model, args=arguments, train_dataset=Dataset.from_dict(rows), loss=loss)
    trainer.train()
    return [row["loss"] for row in trainer.state.log_history if "loss" in row], model.encode(SENTENCES)


def saved_and_loaded() -> object:
    model = _tiny()
    model.save("saved")
    again = SentenceTransformer("saved", device="cpu")
    return again.encode(SENTENCES)


def other_ways_to_pool() -> object:
    ways = ("cls", "max", "mean_sqrt_len_tokens", "weightedmean", "lasttoken")
    words = _tiny()[0]
    models = [SentenceTransformer(modules=[words, Pooling(16, pooling_mode=w)], device="cpu") for w in ways]
    return [model.encode(SENTENCES) for model in models]


def other_losses() -> object:
    model = _tiny()
    narrower = losses.MatryoshkaLoss(model, losses.MultipleNegativesRankingLoss(model), [16, 8, 4])
    kinds = [
        (3, losses.TripletLoss(model)), (2, losses.CoSENTLoss(model)), (2, losses.AnglELoss(model)),
        (2, losses.ContrastiveLoss(model)), (2, narrower), (1, losses.BatchHardTripletLoss(model)),
        (2, losses.CachedMultipleNegativesRankingLoss(model, mini_batch_size=2)),
    ]  # fmt: skip
    found = []
    for width, loss in kinds:
        texts = [[SENTENCES[(i + j) % 4] for j in range(width)] for i in range(4)]
        batch = [InputExample(texts=text, label=i % 2) for i, text in enumerate(texts)]
        value = loss(*model.smart_batching_collate(batch))
        model.zero_grad()
        value.backward()
        found += [value, sum(p.grad.norm() for p in model.parameters() if p.grad is not None)]
    return found


def judged_by_evaluators() -> object:
    model = _tiny()
    near = EmbeddingSimilarityEvaluator(SENTENCES[:3], SENTENCES[1:], [0.1, 0.5, 0.9])
    found = InformationRetrievalEvaluator(
        {"q": SENTENCES[0]}, {"a": SENTENCES[1], "b": SENTENCES[2], "c": SENTENCES[3]}, {"q": {"b"}},
        accuracy_at_k=[1], precision_recall_at_k=[1], map_at_k=[3], mrr_at_k=[3], ndcg_at_k=[3],
    )  # fmt: skip
    return [list(judge(model).values()) for judge in (near, found)]


def sparse_embeddings() -> object:
    folder = Path("words")
    _tiny().tokenizer.save_pretrained(folder)
    config = BertConfig(
        vocab_size=len(WORDS), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=32,
    )  # fmt: skip
    BertForMaskedLM(config).save_pretrained(folder)
    model = SparseEncoder(modules=[MLMTransformer(str(folder)), SpladePooling("max")], device="cpu")
    found = model.encode(SENTENCES)
    return found.to_dense(), model.similarity(found, found), list(model.sparsity(found).values())
