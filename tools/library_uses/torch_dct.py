"""Uses of torch-dct: cosine transforms."""

import torch
import torch_dct

LIBRARY = "torch-dct"


def there_and_back() -> object:
    x = torch.randn(3, 8, 8, requires_grad=True)
    once, two, three = torch_dct.dct(x, norm="ortho"), torch_dct.dct_2d(x), torch_dct.dct_3d(x)
    back = torch_dct.idct_2d(two)
    (once.abs().sum() + three.square().mean()).backward()
    return (once[0, 0], two[0], three[0, 0], back[1, 1], x.grad[0], torch_dct.LinearDCT(8, "dct")(x)[0, 0])
