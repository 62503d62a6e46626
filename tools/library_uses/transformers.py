"""Uses of transformers: language models, their cache, generation, training, pipelines, and saved folders."""

import os

import torch
from transformers import (
    AutoModelForCausalLM,
    BartConfig,
    BartForConditionalGeneration,
    BertConfig,
    BertForMaskedLM,
    BertForSequenceClassification,
    CLIPConfig,
    CLIPModel,
    DataCollatorForLanguageModeling,
    DataCollatorForSeq2Seq,
    DataCollatorWithPadding,
    DebertaV2Config,
    DebertaV2ForSequenceClassification,
    EarlyStoppingCallback,
    Gemma2Config,
    Gemma2ForCausalLM,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    LogitsProcessor,
    LogitsProcessorList,
    LongformerConfig,
    LongformerModel,
    MambaConfig,
    MambaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    MixtralConfig,
    MixtralForCausalLM,
    PreTrainedTokenizerFast,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
    StoppingCriteria,
    StoppingCriteriaList,
    T5Config,
    T5ForConditionalGeneration,
    Trainer,
    TrainingArguments,
    ViTConfig,
    ViTForImageClassification,
    Wav2Vec2Config,
    Wav2Vec2ForCTC,
    WhisperConfig,
    WhisperForConditionalGeneration,
    pipeline,
)

LIBRARY = "transformers"
REQUIRES = ["accelerate"]


def _gpt2() -> GPT2LMHeadModel:
    return GPT2LMHeadModel(
        GPT2Config(
            vocab_size=50, n_positions=32, n_embd=32, n_layer=2, n_head=4, bos_token_id=0,
            eos_token_id=1, pad_token_id=1,
        )
    )  # fmt: skip


def _bert() -> BertForSequenceClassification:
    return BertForSequenceClassification(
        BertConfig(
            vocab_size=50, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
            intermediate_size=48, max_position_embeddings=32, num_labels=3,
        )
    )  # fmt: skip


def _arguments(steps: int) -> TrainingArguments:
    return TrainingArguments(
        output_dir="out", max_steps=steps, per_device_train_batch_size=4, learning_rate=1e-3,
        logging_steps=1, report_to=[], save_strategy="no", use_cpu=True, disable_tqdm=True, seed=0,
    )  # fmt: skip


def _train(model: torch.nn.Module, rows: list) -> object:
    trainer = Trainer(model=model, args=_arguments(5), train_dataset=rows)
    trainer.train()
    return [row["loss"] for row in trainer.state.log_history if "loss" in row]


def gpt2_loss_and_gradients() -> object:
    model, ids = _gpt2(), torch.randint(2, 50, (2, 10))
    out = model.eval()(input_ids=ids, labels=ids)
    out.loss.backward()
    return out.loss, [p.grad.norm() for p in model.parameters()]


def gpt2_with_trainer() -> object:
    model = _gpt2()
    ids = torch.randint(2, 50, (16, 12))
    return _train(model, [{"input_ids": row, "labels": row} for row in ids])


def bert_with_trainer() -> object:
    model = _bert()
    ids = torch.randint(2, 50, (16, 12))
    rows = [{"input_ids": row, "attention_mask": torch.ones_like(row), "labels": i % 3} for i, row in enumerate(ids)]
    return _train(model, rows)


def generate_greedily() -> object:
    model, ids = _gpt2().eval(), torch.tensor([[3, 4, 5]])
    return model.generate(ids, max_new_tokens=10, do_sample=False)


def generate_sampled() -> object:
    model, ids = _gpt2().eval(), torch.tensor([[3, 4, 5], [6, 7, 8]])
    return model.generate(ids, max_new_tokens=8, do_sample=True, top_k=20, temperature=0.9)


def generate_with_beams() -> object:
    model, ids = _gpt2().eval(), torch.tensor([[3, 4, 5]])
    return model.generate(ids, max_new_tokens=6, num_beams=3, do_sample=False)


def llama_with_a_cache() -> object:
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=50, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
            num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=32,
        )
    ).eval()  # fmt: skip
    ids = torch.randint(2, 50, (1, 8))
    with torch.no_grad():
        first = model(ids[:, :5], use_cache=True)
        rest = model(ids[:, 5:], past_key_values=first.past_key_values, use_cache=True)
        whole = model(ids)
    return rest.logits.sum(-1), (whole.logits[:, 5:] - rest.logits).abs().max() < 1e-5


def from_pretrained_of_a_folder() -> object:
    model = _bert().eval()
    model.save_pretrained("saved")
    again = BertForSequenceClassification.from_pretrained("saved").eval()
    ids = torch.randint(2, 50, (2, 6))
    return again(ids).logits, (again(ids).logits - model(ids).logits).abs().max()


def vit_forward_and_backward() -> object:
    model = ViTForImageClassification(
        ViTConfig(
            hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48,
            image_size=16, patch_size=4, num_labels=5,
        )
    )  # fmt: skip
    out = model.eval()(torch.randn(2, 3, 16, 16), labels=torch.tensor([1, 3]))
    out.loss.backward()
    return out.loss, out.logits, sum(p.grad.norm() for p in model.parameters())


# -- more architectures ---------------------------------------------------------------------------

_WORDS = "[PAD] [UNK] [CLS] [SEP] [MASK] a the cat dog sat ran on mat road and slept good bad".split()
_BERT = {
    "vocab_size": 50, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48,
    "max_position_embeddings": 64,
}  # fmt: skip
_LLAMA = _BERT | {"num_key_value_heads": 2, "bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 0}
_ENCODER_DECODER = {
    "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
    "encoder_ffn_dim": 48, "decoder_ffn_dim": 48,
}  # fmt: skip


def _t5() -> T5ForConditionalGeneration:
    config = T5Config(
        vocab_size=50, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4, decoder_start_token_id=0, pad_token_id=0,
        eos_token_id=3,
    )  # fmt: skip
    return T5ForConditionalGeneration(config)


def _bart() -> BartForConditionalGeneration:
    config = BartConfig(
        vocab_size=50, max_position_embeddings=64, pad_token_id=1, bos_token_id=0, eos_token_id=2,
        decoder_start_token_id=2, forced_eos_token_id=2, init_std=0.3, **_ENCODER_DECODER,
    )  # fmt: skip
    return BartForConditionalGeneration(config)


def _tokens() -> PreTrainedTokenizerFast:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    words = Tokenizer(models.WordLevel({w: i for i, w in enumerate(_WORDS)}, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=words, unk_token="[UNK]", pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]", mask_token="[MASK]"
    )  # fmt: skip


def _steps(model: torch.nn.Module, **batch: torch.Tensor) -> list[float]:
    """The losses of three steps."""
    optimizer, losses = torch.optim.AdamW(model.parameters(), lr=1e-3), []
    model.train()
    for _ in range(3):
        loss = model(**batch).loss
        optimizer.zero_grad(), loss.backward(), optimizer.step()
        losses.append(loss.item())
    return losses


def _trained_and_asked(model: torch.nn.Module) -> object:
    """Losses of a language model, then its answer to a batch that is padded on the left."""
    ids = torch.randint(3, 50, (2, 10))
    losses, mask = _steps(model, input_ids=ids, labels=ids), torch.ones_like(ids)
    mask[0, :3] = 0
    said = model.eval().generate(ids, attention_mask=mask, max_new_tokens=6, do_sample=False)
    return losses, said


def t5_and_bart_trained() -> object:
    given = {"input_ids": torch.randint(3, 50, (4, 9)), "labels": torch.randint(3, 50, (4, 7))}
    given["labels"][0, 4:] = -100
    mask = torch.ones(4, 9).long()
    mask[1, 5:] = 0
    return _steps(_t5(), **given), _steps(_bart(), attention_mask=mask, **given)


def mistral_with_a_sliding_window() -> object:
    return _trained_and_asked(MistralForCausalLM(MistralConfig(**_LLAMA, sliding_window=4)))


def gemma2_with_soft_caps() -> object:
    return _trained_and_asked(Gemma2ForCausalLM(Gemma2Config(**_LLAMA, head_dim=8, sliding_window=4)))


def mixtral_and_its_experts() -> object:
    config = MixtralConfig(**_LLAMA, num_local_experts=4, num_experts_per_tok=2)
    return _trained_and_asked(MixtralForCausalLM(config))


def mamba_without_attention() -> object:
    config = MambaConfig(vocab_size=50, hidden_size=32, num_hidden_layers=2, state_size=4)
    return _trained_and_asked(MambaForCausalLM(config))


def deberta_with_relative_places() -> object:
    config = DebertaV2Config(
        **_BERT, relative_attention=True, pos_att_type=["p2c", "c2p"], position_buckets=8, num_labels=3,
        share_att_key=True, norm_rel_ebd="layer_norm", conv_kernel_size=3, conv_act="gelu",
    )  # fmt: skip
    ids = torch.randint(5, 50, (2, 9))
    labels = torch.tensor([0, 2])
    return _steps(DebertaV2ForSequenceClassification(config), input_ids=ids, labels=labels)


def longformer_with_windows() -> object:
    model = LongformerModel(LongformerConfig(**_BERT, attention_window=4)).eval()
    return model(torch.randint(5, 50, (1, 10))).last_hidden_state[..., :2]


def clip_of_words_and_pictures() -> object:
    seen = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
    model = CLIPModel(
        CLIPConfig(
            text_config=_BERT | {"bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 1},
            vision_config=seen | {"image_size": 16, "patch_size": 4}, projection_dim=16,
        )
    )  # fmt: skip
    ids = torch.randint(2, 50, (3, 6))
    ids[:, -1] = 1
    out = model(input_ids=ids, pixel_values=torch.randn(3, 3, 16, 16), return_loss=True)
    out.loss.backward()
    return out.loss, out.logits_per_image


def whisper_listens() -> object:
    config = WhisperConfig(
        vocab_size=60, num_mel_bins=16, max_source_positions=50, max_target_positions=32, pad_token_id=0, bos_token_id=1,
        eos_token_id=2, decoder_start_token_id=3, suppress_tokens=None, begin_suppress_tokens=None, **_ENCODER_DECODER,
    )  # fmt: skip
    model, sound = WhisperForConditionalGeneration(config), torch.randn(2, 16, 100)
    losses = _steps(model, input_features=sound, labels=torch.randint(4, 60, (2, 6)))
    return losses, model.eval().generate(sound, max_new_tokens=5, do_sample=False)


def wav2vec2_with_ctc() -> object:
    config = Wav2Vec2Config(
        **_BERT, conv_dim=(16, 16), conv_stride=(5, 2), conv_kernel=(10, 3), num_conv_pos_embeddings=16,
        num_conv_pos_embedding_groups=2, num_feat_extract_layers=2, mask_time_prob=0.2, mask_time_length=2,
        ctc_loss_reduction="mean",
    )  # fmt: skip
    return _steps(Wav2Vec2ForCTC(config), input_values=torch.randn(2, 800), labels=torch.randint(1, 20, (2, 6)))


def scaled_rotary_places() -> object:
    kinds: list[dict] = [
        {"rope_type": "linear"}, {"rope_type": "dynamic"}, {"rope_type": "yarn"},
        {"rope_type": "llama3", "low_freq_factor": 1.0, "high_freq_factor": 4.0},
        {"rope_type": "longrope", "short_factor": [1.0] * 4, "long_factor": [2.0] * 4},
    ]  # fmt: skip
    found = []
    for kind in kinds:
        kind |= {"rope_theta": 10000.0, "factor": 2.0, "original_max_position_embeddings": 16}
        torch.manual_seed(0)
        model = LlamaForCausalLM(LlamaConfig(**_LLAMA, rope_parameters=kind)).eval()
        found.append(model(torch.arange(3, 43)[None]).logits.sum(-1))
    return found


# -- generation -----------------------------------------------------------------------------------


def generate_with_bart_and_beams() -> object:
    out = _bart().eval().generate(
        torch.randint(3, 50, (2, 6)), num_beams=4, max_new_tokens=8, num_return_sequences=2, no_repeat_ngram_size=2,
        early_stopping=True, do_sample=False, return_dict_in_generate=True, output_scores=True,
    )  # fmt: skip
    return out.sequences, out.sequences_scores


def generate_in_many_ways() -> object:
    model, ids = _gpt2().eval(), torch.randint(2, 50, (2, 5))
    ways: list[dict] = [
        {"typical_p": 0.7}, {"eta_cutoff": 1e-3}, {"epsilon_cutoff": 1e-2}, {"min_p": 0.05}, {"top_p": 0.8},
        {"num_beams": 3}, {"do_sample": False, "repetition_penalty": 1.3, "bad_words_ids": [[5], [6, 7]]},
        {"do_sample": False, "sequence_bias": {(10,): 4.0}, "suppress_tokens": [9]},
        {"do_sample": False, "guidance_scale": 1.5}, {"do_sample": False, "cache_implementation": "static"},
        {"do_sample": False, "use_cache": False},
    ]  # fmt: skip
    return [model.generate(ids, max_new_tokens=6, **{"do_sample": True} | way) for way in ways]


def generate_with_a_helper() -> object:
    model, helper, ids = _gpt2().eval(), _gpt2().eval(), torch.randint(2, 50, (1, 5))
    first = model.generate(ids, assistant_model=helper, do_sample=False, max_new_tokens=8)
    return first, model.generate(ids, prompt_lookup_num_tokens=3, do_sample=False, max_new_tokens=8)


def generate_by_own_rules() -> object:
    class EvenOnly(LogitsProcessor):
        def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
            scores = scores.clone()
            scores[:, 1::2] = -float("inf")
            return scores

    class UpToTen(StoppingCriteria):
        def __call__(self, input_ids: torch.Tensor, scores: object, **more: object) -> torch.Tensor:
            return torch.full((len(input_ids),), input_ids.shape[1] >= 10)

    said = []

    class Listener:
        def put(self, value: torch.Tensor) -> None:
            said.append(value)

        def end(self) -> None:
            said.append(torch.tensor(-1))

    rules = {
        "logits_processor": LogitsProcessorList([EvenOnly()]),
        "stopping_criteria": StoppingCriteriaList([UpToTen()]),
    }
    _gpt2().eval().generate(torch.tensor([[3, 4, 5]]), do_sample=False, max_new_tokens=20, streamer=Listener(), **rules)
    return said


# -- training -------------------------------------------------------------------------------------


def _more(**changed: object) -> dict:
    given = {
        "output_dir": "out", "max_steps": 4, "per_device_train_batch_size": 4, "learning_rate": 1e-3, "logging_steps": 1,
        "report_to": [], "save_strategy": "no", "use_cpu": True, "disable_tqdm": True, "seed": 0,
    }  # fmt: skip
    return given | changed


def _told(trainer: Trainer) -> list[float]:
    kinds = ("loss", "grad_norm", "learning_rate", "eval_loss", "eval_right")
    return [row[kind] for row in trainer.state.log_history for kind in kinds if kind in row]


def _rows(n: int) -> list[dict]:
    ids = torch.randint(5, 50, (n, 12))
    return [{"input_ids": row[: 6 + i % 6].tolist(), "labels": i % 3} for i, row in enumerate(ids)]


def trainer_with_accumulation_and_smoothing() -> object:
    model, ids = _gpt2(), torch.randint(2, 50, (24, 12))
    options = _more(
        gradient_accumulation_steps=2, label_smoothing_factor=0.1, warmup_steps=2, weight_decay=0.1,
        lr_scheduler_type="cosine", gradient_checkpointing=True, optim="adafactor",
    )  # fmt: skip
    rows = [{"input_ids": row, "labels": row} for row in ids]
    trainer = Trainer(model=model, args=TrainingArguments(**options), train_dataset=rows)
    trainer.train()
    return _told(trainer)


def trainer_that_stops_early() -> object:
    options = _more(
        max_steps=-1, num_train_epochs=4, eval_strategy="epoch", save_strategy="epoch", load_best_model_at_end=True,
        metric_for_best_model="right", save_total_limit=2,
    )  # fmt: skip
    trainer = Trainer(
        model=_bert(), args=TrainingArguments(**options), train_dataset=_rows(24), eval_dataset=_rows(10),
        compute_metrics=lambda p: {"right": float((p.predictions.argmax(-1) == p.label_ids).mean())},
        data_collator=DataCollatorWithPadding(_tokens()), callbacks=[EarlyStoppingCallback(1)],
    )  # fmt: skip
    trainer.train()
    return _told(trainer), trainer.predict(_rows(5)).predictions


def trainer_goes_on_from_a_checkpoint() -> object:
    ids, found = torch.randint(2, 50, (16, 12)), []
    rows = [{"input_ids": row, "labels": row} for row in ids]
    for start in (None, "out/checkpoint-2"):
        options = TrainingArguments(**_more(save_strategy="steps", save_steps=2))
        torch.manual_seed(0)
        trainer = Trainer(model=_gpt2(), args=options, train_dataset=rows)
        trainer.train(resume_from_checkpoint=start)
        found.append(_told(trainer))
    return found


def trainer_of_masked_words() -> object:
    model = BertForMaskedLM(BertConfig(**_BERT))
    rows = [{"input_ids": row["input_ids"]} for row in _rows(16)]
    words = DataCollatorForLanguageModeling(_tokens(), mlm_probability=0.3)
    options = TrainingArguments(**_more())
    trainer = Trainer(model=model, args=options, train_dataset=rows, data_collator=words)
    trainer.train()
    return _told(trainer)


def trainer_of_sequences() -> object:
    model, words = _t5(), _tokens()
    rows = [{"input_ids": r["input_ids"], "labels": r["input_ids"][::-1]} for r in _rows(16)]
    options = Seq2SeqTrainingArguments(
        **_more(predict_with_generate=True, generation_max_length=8, generation_num_beams=2)
    )
    collator = DataCollatorForSeq2Seq(words, model=model)
    trainer = Seq2SeqTrainer(model=model, args=options, train_dataset=rows, data_collator=collator)
    trainer.train()
    return _told(trainer), trainer.predict(rows[:4]).predictions


# -- files and pipelines --------------------------------------------------------------------------


def files_in_shards() -> object:
    model, ids = LlamaForCausalLM(LlamaConfig(**_LLAMA)).eval(), torch.tensor([[3, 4, 5]])
    model.save_pretrained("shards", max_shard_size="15KB")
    again = AutoModelForCausalLM.from_pretrained("shards").eval()
    places = {"model.layers.1": "disk"} | dict.fromkeys(
        ("model.embed_tokens", "model.layers.0", "model.norm", "model.rotary_emb", "lm_head"), "cpu"
    )
    parted = AutoModelForCausalLM.from_pretrained("shards", device_map=places, offload_folder="aside")
    return len(os.listdir("shards")), again(ids).logits.sum(-1), parted(ids).logits.sum(-1)


def pipelines_of_words() -> object:
    words = _tokens()
    judge = pipeline("text-classification", model=_bert(), tokenizer=words, top_k=None)
    fill = pipeline("fill-mask", model=BertForMaskedLM(BertConfig(**_BERT | {"vocab_size": len(_WORDS)})), tokenizer=words)  # fmt: skip
    scores = [[row["score"] for row in rows] for rows in judge(["the cat sat", "a dog"])]
    return scores, [[row["score"], row["token"]] for row in fill("the [MASK] sat")]
