"""What one row of the layer table cannot say: masks, options of forward, lazy layers, refusals."""

from __future__ import annotations

import textwrap

import pytest

import rushlight
from rushlight import nn
from side_by_side import agree

SETUP = """
def seq(*shape):
    n = 1
    for s in shape:
        n *= s
    return torch.arange(float(n)).reshape(shape) / n - 0.3
"""

SAME = {
    "unpool 1d": "x = seq(1, 2, 8); y, i = nn.MaxPool1d(2, return_indices=True)(x); u = nn.MaxUnpool1d(2); r = [repr(u), i, u(y, i), u(y, i, output_size=(1, 2, 9))]",
    "unpool 2d": "x = seq(1, 2, 4, 6).sin(); y, i = nn.MaxPool2d(2, return_indices=True)(x); u = nn.MaxUnpool2d(2, 2); r = [repr(u), i, u(y, i)]",
    "unpool 3d": "x = seq(1, 1, 4, 4, 4).sin(); y, i = nn.MaxPool3d(2, return_indices=True)(x); r = nn.MaxUnpool3d(2)(y, i)",
    "unpool backward": "x = seq(1, 1, 4, 4).requires_grad_(); y, i = nn.MaxPool2d(2, return_indices=True)(x); (nn.MaxUnpool2d(2)(y, i) * seq(1, 1, 4, 4)).sum().backward(); r = x.grad",
    "adaptive max indices": "r = nn.AdaptiveMaxPool2d(2, return_indices=True)(seq(1, 2, 5, 5).cos())",
    "fractional 2d": "x = seq(2, 3, 7, 8).cos().requires_grad_(); m = nn.FractionalMaxPool2d(2, output_size=(3, 4), return_indices=True, _random_samples=seq(2, 3, 2) + 0.3); y, i = m(x); (y * y).sum().backward(); r = [y, i, x.grad, list(m.state_dict())]",
    "fractional 3d": "m = nn.FractionalMaxPool3d(2, output_ratio=0.5, _random_samples=seq(1, 2, 3) + 0.3); r = m(seq(1, 2, 6, 6, 6).cos())",
    "fractional seed": "r = nn.FractionalMaxPool2d(3, output_ratio=(0.5, 0.6))(seq(1, 2, 8, 9).cos())",
    "fractional repr": "r = repr(nn.FractionalMaxPool2d(2, output_size=3))",
    "fractional both": "nn.FractionalMaxPool2d(2, output_size=3, output_ratio=0.5)",
    "fractional none": "nn.FractionalMaxPool3d(2)",
    "fractional ratio": "nn.FractionalMaxPool2d(2, output_ratio=1.5)",
    "transpose output_size": "r = nn.ConvTranspose2d(1, 1, 3, stride=2, padding=1)(seq(1, 1, 3, 3), output_size=[6, 5])",
    "transpose output_size full": "r = nn.ConvTranspose1d(1, 1, 3, stride=2)(seq(1, 1, 3), output_size=(1, 1, 8))",
    "transpose output_size wrong": "nn.ConvTranspose2d(1, 1, 3, stride=2)(seq(1, 1, 3, 3), output_size=[16, 5])",
    "transpose output_size count": "nn.ConvTranspose2d(1, 1, 3, stride=2)(seq(1, 1, 3, 3), output_size=[16])",
    "transpose padding mode": "nn.ConvTranspose2d(1, 1, 3, padding_mode='reflect')",
    "conv groups": "nn.Conv2d(3, 4, 3, groups=2)",
    "conv groups out": "nn.Conv2d(4, 3, 3, groups=2)",
    "conv groups zero": "nn.Conv2d(4, 3, 3, groups=0)",
    "conv same stride": "nn.Conv2d(4, 4, 3, padding='same', stride=2)",
    "norm dims 1": "nn.BatchNorm1d(3)(seq(2, 3, 4, 5))",
    "norm dims 2": "nn.BatchNorm2d(3)(seq(2, 3))",
    "norm dims 3": "nn.BatchNorm3d(3)(seq(2, 3))",
    "instance norm dims": "nn.InstanceNorm2d(3)(seq(2, 3))",
    "instance norm channels": "nn.InstanceNorm2d(3, affine=True)(seq(2, 4, 2, 2))",
    "instance norm channels warn": "r = nn.InstanceNorm2d(3)(seq(2, 4, 2, 2))",
    "batch norm one value": "nn.BatchNorm1d(3)(seq(1, 3))",
    "group norm channels": "nn.GroupNorm(2, 3)",
    "batch norm average": "m = nn.BatchNorm1d(2, momentum=None); [m(seq(4, 2) * k) for k in (1, 2, 3)]; r = dict(m.state_dict())",
    "dropout p": "nn.Dropout(1.5)",
    "hardtanh limits": "nn.Hardtanh(1.0, -1.0)",
    "hardtanh old names": "r = repr(nn.Hardtanh(min_value=-2.0, max_value=3.0))",
    "softmax no dim": "r = nn.Softmax()(seq(2, 3))",
    "softmax2d dims": "nn.Softmax2d()(seq(2, 3))",
    "unflatten wrong": "nn.Unflatten(1, 3)",
    "unflatten element": "nn.Unflatten(1, (2, 3.0))",
    "embedding padding": "nn.Embedding(3, 2, padding_idx=3)",
    "embedding pretrained": "e = nn.Embedding.from_pretrained(seq(3, 2)); r = [e(torch.tensor([2, 0])), e.weight.requires_grad, repr(e)]",
    "embedding pretrained thaw": "e = nn.Embedding.from_pretrained(seq(3, 2), freeze=False, padding_idx=1); r = [e.weight.requires_grad, repr(e)]",
    "embedding pretrained 1d": "nn.Embedding.from_pretrained(seq(3))",
    "embedding weight shape": "nn.Embedding(3, 2, _weight=seq(2, 2))",
    "embedding max_norm": "e = nn.Embedding(3, 2, max_norm=0.5); r = [e(torch.tensor([0, 2])), e.weight]",
    "bag weights": "e = nn.EmbeddingBag(5, 2, mode='sum'); r = e(torch.tensor([[0, 2], [1, 4]]), per_sample_weights=seq(2, 2))",
    "bag last offset": "e = nn.EmbeddingBag(5, 2, include_last_offset=True); r = e(torch.tensor([0, 2, 1]), torch.tensor([0, 2, 3]))",
    "bag pretrained": "e = nn.EmbeddingBag.from_pretrained(seq(3, 2), mode='sum'); r = [e(torch.tensor([[2, 0]])), e.weight.requires_grad]",
    "triplet margin": "nn.TripletMarginLoss(margin=0)",
    "multi margin p": "nn.MultiMarginLoss(p=3)",
    "old reduce": "r = nn.MSELoss(size_average=False)(seq(3), seq(3) * 2)",
    "nll2d": "r = nn.NLLLoss2d()(seq(2, 3, 2, 2), torch.zeros(2, 2, 2, dtype=torch.int64))",
    "cross entropy weight": "l = nn.CrossEntropyLoss(weight=seq(3) + 1); r = [l(seq(2, 3), torch.tensor([0, 2])), list(l.state_dict())]",
    "bce pos_weight": "l = nn.BCEWithLogitsLoss(pos_weight=seq(3) + 1); r = [l(seq(2, 3), torch.ones(2, 3)), list(l.state_dict())]",
    "linear ce dims": "l = nn.LinearCrossEntropyLoss(3, 4, out_features=(2, 2)); r = [repr(l), l(seq(5, 3), torch.zeros(5, 2, 2, dtype=torch.int64)), list(l.state_dict())]",
    "adaptive softmax": "a = nn.AdaptiveLogSoftmaxWithLoss(4, 6, [2, 4], div_value=2.0); r = [a.log_prob(seq(3, 4)), a.predict(seq(3, 4)), a(seq(4), torch.tensor(5))]",
    "adaptive softmax cutoffs": "nn.AdaptiveLogSoftmaxWithLoss(4, 6, [4, 2])",
    "adaptive softmax target": "nn.AdaptiveLogSoftmaxWithLoss(4, 6, [2, 4], div_value=2.0)(seq(1, 4), torch.tensor([7]))",
    "mha masks": "m = nn.MultiheadAttention(4, 2); x = seq(3, 2, 4); r = m(x, x, x, key_padding_mask=torch.tensor([[False, False, True], [False, False, False]]), attn_mask=torch.ones(3, 3).triu(1).bool())",
    "mha float mask": "m = nn.MultiheadAttention(4, 2); x = seq(3, 2, 4); r = m(x, x, x, attn_mask=nn.Transformer.generate_square_subsequent_mask(3), average_attn_weights=False)",
    "mha no weights": "m = nn.MultiheadAttention(4, 2, batch_first=True); x = seq(2, 3, 4); r = m(x, x, x, need_weights=False)",
    "mha heads": "nn.MultiheadAttention(5, 2)",
    "mha zero": "nn.MultiheadAttention(0, 2)",
    "mha causal": "m = nn.MultiheadAttention(4, 2, batch_first=True); x = seq(2, 3, 4); r = m(x, x, x, need_weights=False, is_causal=True, attn_mask=nn.Transformer.generate_square_subsequent_mask(3))",
    "encoder masks": """
        e = nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, 0.0), 2, enable_nested_tensor=False)
        r = e(seq(3, 2, 4), mask=nn.Transformer.generate_square_subsequent_mask(3), is_causal=True)""",
    "encoder padding": """
        e = nn.TransformerEncoderLayer(4, 2, 8, 0.0, batch_first=True)
        r = e(seq(2, 3, 4), src_key_padding_mask=torch.tensor([[False, False, True], [False, False, False]]))""",
    "decoder masks": """
        d = nn.TransformerDecoderLayer(4, 2, 8, 0.0, batch_first=True)
        r = d(seq(2, 3, 4), seq(2, 5, 4).cos(), tgt_mask=nn.Transformer.generate_square_subsequent_mask(3),
              memory_key_padding_mask=torch.zeros(2, 5).bool())""",
    "transformer": """
        t = nn.Transformer(4, 2, 1, 1, 8, 0.0)
        r = t(seq(3, 2, 4), seq(5, 2, 4).cos(), tgt_mask=t.generate_square_subsequent_mask(5))""",
    "transformer batch": "nn.Transformer(4, 2, 1, 1, 8)(seq(3, 2, 4), seq(5, 3, 4))",
    "transformer width": "nn.Transformer(4, 2, 1, 1, 8)(seq(3, 2, 5), seq(5, 2, 5))",
    "transformer activation": "nn.TransformerEncoderLayer(4, 2, activation='tanh')",
    "encoder clones": "e = nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8), 2, enable_nested_tensor=False); r = [e.layers[0].linear1.weight is e.layers[1].linear1.weight, e.layers[0].linear1.weight, e.layers[1].linear1.weight]",
    "encoder eval padding": """
        p, bad = torch.tensor([[0, 0, 1], [0, 0, 0]]).bool(), torch.tensor([[0, 0, 1], [1, 0, 0]]).bool()
        r = []
        for layer in ({}, {'norm_first': True}, {'activation': 'gelu'}, {'bias': False}, {'activation': torch.tanh}):
            for stack in ({}, {'enable_nested_tensor': False}, {'mask_check': False}):
                e = nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, 0.0, batch_first=True, **layer), 2, nn.LayerNorm(4), **stack)
                e.eval(); r += [e.use_nested_tensor, e(seq(2, 3, 4), src_key_padding_mask=p)]
                with torch.no_grad():
                    r += [e(seq(2, 3, 4), src_key_padding_mask=q) for q in ((p,) if 'mask_check' in stack else (p, bad))]
                    r += [e(seq(2, 3, 4), mask=torch.zeros(3, 3), src_key_padding_mask=torch.zeros(2, 3).masked_fill(p, float('-inf')))]""",
    "conv gradients": "x, w = seq(1, 2, 6, 6), seq(3, 2, 3, 3); g = seq(1, 3, 3, 3); r = [nn.grad.conv2d_input((1, 2, 6, 6), w, g, 2, 1), nn.grad.conv2d_weight(x, (3, 2, 3, 3), g, 2, 1), nn.grad.conv1d_input((1, 2, 5), seq(3, 2, 3), seq(1, 3, 3)), nn.grad.conv3d_weight(seq(1, 1, 3, 3, 3), (1, 1, 2, 2, 2), seq(1, 1, 2, 2, 2))]",
    "inplace relu": "x = seq(4); y = nn.ReLU(inplace=True)(x); r = [x, y is x]",
    "inplace others": "r = [f(seq(4) * 4) for f in (nn.ELU(inplace=True), nn.Hardswish(True), nn.SiLU(True), nn.LeakyReLU(0.1, True), nn.ReLU6(True), nn.Threshold(0.1, 5.0, True), nn.Mish(True))]",
    "lazy repr": "m = nn.LazyLinear(3); r = [repr(m), repr(m.weight), repr(m.bias), type(m.weight).__name__]; m(seq(2, 5)); r += [repr(m), type(m).__name__, type(m.weight).__name__, tuple(m.weight.shape)]",
    "lazy shape": "nn.LazyLinear(3).weight.shape",
    "lazy sequential": "m = nn.Sequential(nn.LazyConv2d(4, 3), nn.LazyBatchNorm2d(), nn.ReLU(), nn.Flatten(), nn.LazyLinear(2)); y = m(seq(2, 3, 5, 5)); r = [tuple(y.shape), repr(m)]",
    "lazy load": "m = nn.LazyLinear(3); r = [str(m.load_state_dict(nn.Linear(5, 3).state_dict())), tuple(m.weight.shape)]; m(seq(2, 5)); r += [repr(m), m.weight]",
    "lazy load lazy": "m = nn.LazyLinear(3); r = [str(m.load_state_dict(nn.LazyLinear(3).state_dict())), repr(m)]",
    "lazy into plain": "nn.Linear(5, 3).load_state_dict(nn.LazyLinear(3).state_dict())",
    "lazy dtype": "m = nn.LazyLinear(3).double(); m(seq(2, 5).double()); r = str(m.weight.dtype)",
    "lazy deepcopy": "m = copy.deepcopy(nn.LazyLinear(3)); m(seq(2, 5)); r = repr(m)",
    "lazy batch norm load": "m = nn.LazyBatchNorm1d(); r = [repr(m), str(m.load_state_dict(nn.BatchNorm1d(3).state_dict()))]; m(seq(2, 3)); r.append(dict(m.state_dict()))",
    "lazy conv dims": "nn.LazyConv2d(3, 3)(seq(1, 3))",
    "lazy state dict": "r = [(k, type(v).__name__) for k, v in nn.LazyLinear(3).state_dict().items()]",
    "uninitialized": "p = nn.UninitializedParameter(dtype=torch.float64); r = [repr(p), str(p.dtype), p.requires_grad, isinstance(p, nn.Parameter)]; p.materialize((2, 3)); r += [tuple(p.shape), type(p).__name__, p.requires_grad, str(p.dtype)]",
    "uninitialized buffer": "p = nn.UninitializedBuffer(); r = [repr(p), p.requires_grad]; p.materialize((2,)); r += [tuple(p.shape), type(p).__name__]",
    "sync convert": "m = nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(nn.BatchNorm2d(3), nn.ReLU())); r = [repr(m), list(m.state_dict())]",
    "cosine": "r = nn.CosineSimilarity(dim=0)(seq(3, 2), seq(3, 2).cos())",
    "channels last": "m = nn.Conv2d(2, 3, 3).to(memory_format=torch.channels_last); r = [m.weight.is_contiguous(memory_format=torch.channels_last), m(seq(1, 2, 4, 4))]",
    "share memory": "m = nn.Linear(1, 1); r = m.share_memory() is m",
    "rrelu train": "y = nn.RReLU()(-torch.ones(100)); r = [bool((y <= -0.125).all()), bool((y >= -0.34).all())]",
    "factory dtype": "r = [str(nn.Linear(1, 1, dtype=torch.float64).weight.dtype), str(nn.LSTM(1, 1, dtype=torch.float64).weight_ih_l0.dtype), str(nn.BatchNorm1d(1, dtype=torch.float64).running_mean.dtype), str(nn.MultiheadAttention(2, 1, dtype=torch.float64).out_proj.weight.dtype)]",
    "meta device": "r = [str(p.device) for p in nn.Transformer(4, 2, 1, 1, 8, device='meta').parameters()]",
    "device context": "with torch.device('meta'):\n    m = nn.Linear(2, 3)\nr = str(m.weight.device)",
    "default dtype": "torch.set_default_dtype(torch.float64)\ntry:\n    r = str(nn.Linear(1, 1).weight.dtype)\nfinally:\n    torch.set_default_dtype(torch.float32)",
}


@pytest.mark.parametrize("name", SAME)
def test_same_as_torch(name: str) -> None:
    agree(SETUP + textwrap.dedent(SAME[name]))


def test_dropout_scales_in_training_only() -> None:
    x = rushlight.ones(1000)
    m = nn.Dropout(0.25)
    y = m(x)
    kept = y[y != 0]
    assert 600 < kept.numel() < 900
    assert (kept - 1 / 0.75).abs().max().item() < 1e-6
    assert m.eval()(x) is x


@pytest.mark.parametrize("use", ["w + 1", "1 - w", "w * x", "x / w", "-w", "w @ x", "w[0]", "x[w]", "w.exp()", "w > 0"])
@pytest.mark.parametrize("cast", [False, True])
def test_using_a_lazy_parameter_says_what_to_do(use: str, cast: bool) -> None:
    names = {"w": nn.LazyLinear(3).weight, "x": rushlight.ones(3)}
    with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter"):
        with rushlight.autocast("cpu", enabled=cast):
            eval(use, names)


def test_data_parallel_refuses_what_it_cannot_do() -> None:
    with pytest.raises(NotImplementedError, match="one process per GPU"):
        nn.DataParallel(nn.Linear(1, 1), device_ids=[0, 1])


def test_conv_padding_words() -> None:
    with pytest.raises(ValueError, match="Invalid padding string 'full'"):
        nn.Conv2d(1, 1, 3, padding="full")
    with pytest.raises(ValueError, match="padding_mode must be one of"):
        nn.Conv2d(1, 1, 3, padding_mode="mirror")


def test_functional_call_of_several_dicts() -> None:
    from rushlight.func import functional_call

    m = nn.Linear(2, 1)
    given = ({"weight": rushlight.ones(1, 2)}, {"bias": rushlight.zeros(1)})
    assert functional_call(m, given, (rushlight.ones(1, 2),)).item() == 2.0
    with pytest.raises(ValueError, match=r"\['weight'\] appeared in multiple dictionaries"):
        functional_call(m, (given[0], given[0]), (rushlight.ones(1, 2),))
