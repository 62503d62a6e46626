"""Uses of trl."""

import datasets
import torch
import transformers
import trl

LIBRARY = "trl"
REQUIRES = ["transformers", "datasets"]
_WORDS = ["<pad>", "<eos>", *"abcdefghijklmnop ."]


def _tokens() -> transformers.PreTrainedTokenizerFast:
    from tokenizers import Tokenizer, models, pre_tokenizers

    tokens = Tokenizer(models.WordLevel({w: i for i, w in enumerate(_WORDS)}, unk_token="."))
    tokens.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokens, pad_token="<pad>", eos_token="<eos>", unk_token="."
    )


def _model() -> transformers.PreTrainedModel:
    config = transformers.LlamaConfig(
        vocab_size=len(_WORDS), hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=2, max_position_embeddings=64, pad_token_id=0, eos_token_id=1, bos_token_id=1,
    )  # fmt: skip
    torch.manual_seed(0)
    return transformers.LlamaForCausalLM(config)


_QUIET = {
    "output_dir": "out", "report_to": [], "max_steps": 3, "per_device_train_batch_size": 2, "logging_steps": 1, "save_strategy": "no",
    "learning_rate": 1e-2, "use_cpu": True, "disable_tqdm": True, "seed": 1, "bf16": False, "gradient_checkpointing": False,
}  # fmt: skip


def _losses(trainer: transformers.Trainer) -> list[float]:
    trainer.train()
    return [row["loss"] for row in trainer.state.log_history if "loss" in row]


def fine_tuning() -> object:
    rows = datasets.Dataset.from_dict({"text": ["abc def", "hij klm nop", "aa bb cc", "dd e f"] * 2})
    args = trl.SFTConfig(max_length=16, **_QUIET)
    return _losses(trl.SFTTrainer(_model(), args=args, train_dataset=rows, processing_class=_tokens()))


def preferences() -> object:
    rows = {
        "prompt": ["abc ", "hij ", "aa ", "dd "],
        "chosen": ["def", "klm", "bb", "e"],
        "rejected": ["nop", "a", "cc", "f"],
    }
    args = trl.DPOConfig(max_length=16, **_QUIET)
    trainer = trl.DPOTrainer(
        _model(),
        ref_model=_model(),
        args=args,
        train_dataset=datasets.Dataset.from_dict(rows),
        processing_class=_tokens(),
    )
    return _losses(trainer)


def _letters(n: int) -> list[str]:
    return (["abc ", "hij ", "aa ", "dd "] * n)[:n]


def rewards_learnt() -> object:
    config = transformers.LlamaConfig(**_model().config.to_dict() | {"num_labels": 1})
    torch.manual_seed(0)
    model = transformers.LlamaForSequenceClassification(config)
    rows = {"chosen": _letters(8), "rejected": ["nop", "a", "cc", "f"] * 2}
    args = trl.RewardConfig(max_length=16, **_QUIET)
    data = datasets.Dataset.from_dict(rows)
    return _losses(trl.RewardTrainer(model, args=args, train_dataset=data, processing_class=_tokens()))


def preferences_by_other_losses() -> object:
    rows = {"prompt": _letters(4), "chosen": ["def", "klm", "bb", "e"], "rejected": ["nop", "a", "cc", "f"]}
    found = []
    for kind in ("ipo", "hinge", "apo_zero"):
        args = trl.DPOConfig(max_length=16, loss_type=kind, **_QUIET)
        trainer = trl.DPOTrainer(
            _model(),
            ref_model=_model(),
            args=args,
            train_dataset=datasets.Dataset.from_dict(rows),
            processing_class=_tokens(),
        )
        found.append(_losses(trainer))
    return found


def _variety(completions: list[str], **more: object) -> list[float]:
    return [float(len(set(text))) for text in completions]


def rewards_of_a_group() -> object:
    _model().save_pretrained("model")
    _tokens().save_pretrained("model")
    options = _QUIET | {"per_device_train_batch_size": 4}
    args = trl.GRPOConfig(num_generations=4, max_completion_length=6, beta=0.1, **options)
    rows = datasets.Dataset.from_dict({"prompt": _letters(8)})
    trainer = trl.GRPOTrainer("model", reward_funcs=_variety, args=args, train_dataset=rows)
    trainer.train()
    kinds = ("loss", "reward", "reward_std", "kl")
    return [row[kind] for row in trainer.state.log_history for kind in kinds if kind in row]
