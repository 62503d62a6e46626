"""Uses of transformers: language models, their cache, generation, training, and saved folders."""

import torch
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    Trainer,
    TrainingArguments,
    ViTConfig,
    ViTForImageClassification,
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
    rows = [
        {"input_ids": row, "attention_mask": torch.ones_like(row), "labels": i % 3}
        for i, row in enumerate(ids)
    ]
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
