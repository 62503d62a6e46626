"""Uses of openai-whisper: a tiny model of its sizes, sound to mel bands, and decoding."""

import torch
import whisper
from whisper.model import ModelDimensions, Whisper

LIBRARY = "openai-whisper"

_DIMS = ModelDimensions(
    n_mels=80, n_audio_ctx=1500, n_audio_state=32, n_audio_head=2, n_audio_layer=1,
    n_vocab=51865, n_text_ctx=32, n_text_state=32, n_text_head=2, n_text_layer=1,
)  # fmt: skip


def _model() -> Whisper:
    torch.manual_seed(0)
    model = Whisper(_DIMS)
    torch.nn.init.normal_(model.decoder.positional_embedding)  # whisper leaves it as the memory was
    return model


def sound_to_bands() -> object:
    sound = torch.sin(torch.arange(16000) * 0.05) * torch.linspace(0, 1, 16000)
    mel = whisper.log_mel_spectrogram(whisper.pad_or_trim(sound))
    return mel.shape, mel[:, ::300]


def features_and_logits() -> object:
    model = _model()
    mel = torch.randn(1, 80, 3000)
    tokens = torch.tensor([[50258, 50259, 50359, 11]])
    out = model(mel, tokens)
    loss = out.float().logsumexp(-1).mean()
    loss.backward()
    return out[0, :, :8], loss, model.encoder.conv1.weight.grad.norm()


def decoding_greedily() -> object:
    model = _model().eval()
    mel = torch.randn(80, 3000)
    options = whisper.DecodingOptions(language="en", fp16=False, sample_len=6)
    result = whisper.decode(model, mel, options)
    return result.tokens, result.avg_logprob, result.no_speech_prob
