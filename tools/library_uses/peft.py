"""Uses of peft: LoRA and other small additions to a model, their merge, and their files."""

from collections.abc import Callable

import torch
from library_use import trained
from peft import (
    BOFTConfig,
    FourierFTConfig,
    HRAConfig,
    IA3Config,
    LNTuningConfig,
    LoHaConfig,
    LoKrConfig,
    LoraConfig,
    OFTConfig,
    PeftConfig,
    PeftModel,
    PrefixTuningConfig,
    PromptEncoderConfig,
    PromptTuningConfig,
    VeraConfig,
    get_peft_model,
)
from torch import nn
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

LIBRARY = "peft"
REQUIRES = ["transformers", "jinja2"]  # which PyTorch would bring


def _net() -> nn.Module:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))


def lora_on_a_small_net() -> object:
    model = get_peft_model(_net(), LoraConfig(r=2, lora_alpha=4, target_modules=["0", "2"]))
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=0.05)
    x, y = torch.randn(16, 6), torch.randint(3, (16,))
    losses = trained(optimizer, 5, lambda: nn.functional.cross_entropy(model(x), y))
    merged = model.merge_and_unload()
    return losses, merged(x)


def saved_and_loaded_adapters() -> object:
    config = LoraConfig(r=2, target_modules=["0"], init_lora_weights=False)
    model = get_peft_model(_net(), config).eval()
    model.save_pretrained("adapter")
    again = PeftModel.from_pretrained(_net(), "adapter").eval()
    x = torch.randn(4, 6)
    return again(x), (again(x) - model(x)).abs().max()


def ia3() -> object:
    model = get_peft_model(_net(), IA3Config(target_modules=["0"], feedforward_modules=[]))
    out = model(torch.randn(4, 6))
    out.sum().backward()
    return out, [p.grad.norm() for p in model.parameters() if p.grad is not None]


# -- on language models ---------------------------------------------------------------------------


def _llama() -> LlamaForCausalLM:
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=50, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=64,
    )  # fmt: skip
    return LlamaForCausalLM(config)


def _gpt2() -> GPT2LMHeadModel:
    torch.manual_seed(0)
    return GPT2LMHeadModel(GPT2Config(vocab_size=50, n_positions=64, n_embd=32, n_layer=2, n_head=4))


def _tuned(base: Callable[[], nn.Module], config: PeftConfig, reads: bool = True) -> list:
    """The losses of three steps, what the model says then, and that its files say the same."""
    model = get_peft_model(base(), config)
    torch.manual_seed(5)
    ids = torch.randint(3, 50, (3, 8))
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)
    losses = trained(optimizer, 3, lambda: model(input_ids=ids, labels=ids).loss)
    said = model.eval()(input_ids=ids).logits.detach()
    found = [losses, said[..., :2]]
    if reads:
        model.save_pretrained("adapter")
        again = PeftModel.from_pretrained(base(), "adapter").eval()
        found.append((again(input_ids=ids).logits - said).abs().max() < 1e-4)
    return found


def lora_in_its_forms() -> object:
    forms: list[dict] = [
        {"use_rslora": True}, {"use_dora": True}, {"bias": "lora_only"}, {"target_modules": "all-linear"},
        {"modules_to_save": ["lm_head"]}, {"rank_pattern": {"q_proj": 1}}, {"target_modules": ["embed_tokens"]},
    ]  # fmt: skip
    given = {"r": 4, "target_modules": ["q_proj", "v_proj"]}
    return [_tuned(_llama, LoraConfig(**given | form)) for form in forms]


def lora_that_starts_from_the_weights() -> object:
    kinds = ("pissa", "olora", "gaussian", "orthogonal")
    configs = [LoraConfig(r=4, target_modules=["q_proj"], init_lora_weights=kind) for kind in kinds]
    return [_tuned(_llama, config, reads=False) for config in configs]


def virtual_tokens() -> object:
    given = {"task_type": "CAUSAL_LM", "num_virtual_tokens": 4}
    return [
        _tuned(_gpt2, PrefixTuningConfig(**given, prefix_projection=True, encoder_hidden_size=16)),
        _tuned(_gpt2, PromptTuningConfig(**given)),
        _tuned(_gpt2, PromptEncoderConfig(**given, encoder_hidden_size=16)),
    ]


def other_methods() -> object:
    where = {"target_modules": ["q_proj"]}
    configs = [
        LoHaConfig(r=4, **where), LoKrConfig(r=4, **where), OFTConfig(oft_block_size=8, r=0, **where),
        BOFTConfig(boft_block_size=8, **where), VeraConfig(r=4, **where), HRAConfig(r=4, **where),
        FourierFTConfig(n_frequency=20, **where), LNTuningConfig(target_modules=["norm"]),
    ]  # fmt: skip
    return [_tuned(_llama, config) for config in configs]


def several_adapters_weighed() -> object:
    config = LoraConfig(r=4, init_lora_weights=False, target_modules=["q_proj", "v_proj"])
    model = get_peft_model(_llama(), config, adapter_name="a").eval()
    model.add_adapter("b", config)
    ids, found = torch.tensor([[3, 4, 5]]), []
    for kind in ("linear", "cat", "svd", "ties", "dare_linear"):
        density = {"density": 0.5} if kind in ("ties", "dare_linear") else {}
        model.add_weighted_adapter(["a", "b"], [0.7, 0.3], kind, combination_type=kind, **density)
        model.set_adapter(kind)
        found.append(model(input_ids=ids).logits[..., :3])
    both = model(input_ids=torch.cat([ids, ids]), adapter_names=["a", "b"]).logits
    with model.disable_adapter():
        return found, both[..., :3], model(input_ids=ids).logits[..., :3]
