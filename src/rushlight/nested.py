"""`torch.nested`: rushlight has no nested tensors; the names say so."""

from __future__ import annotations

from ._names.refusal import refuser

_refuse = refuser(
    "nested",
    "has no nested tensors",
    "Pad the sequences with nn.utils.rnn.pad_sequence and mask the padding, or use "
    "nn.utils.rnn.pack_sequence.",
)

nested_tensor = _refuse("nested_tensor")
as_nested_tensor = _refuse("as_nested_tensor")
nested_tensor_from_jagged = _refuse("nested_tensor_from_jagged")
to_padded_tensor = _refuse("to_padded_tensor")
