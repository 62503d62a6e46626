"""`torch.utils.model_zoo`: weights by address, under the older name of `hub`'s loader."""

from ..hub import load_state_dict_from_url as load_url

__all__ = ["load_url"]
