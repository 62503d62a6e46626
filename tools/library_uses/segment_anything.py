"""Uses of segment-anything: masks of what is pointed at."""

import torch
from segment_anything.modeling import ImageEncoderViT, MaskDecoder, PromptEncoder, Sam, TwoWayTransformer

LIBRARY = "segment-anything"


def a_mask() -> object:
    net = Sam(
        ImageEncoderViT(depth=2, embed_dim=16, img_size=64, num_heads=2, patch_size=16, out_chans=16, use_rel_pos=True,
                        global_attn_indexes=(1,), window_size=3),
        PromptEncoder(embed_dim=16, image_embedding_size=(4, 4), input_image_size=(64, 64), mask_in_chans=4),
        MaskDecoder(transformer_dim=16, transformer=TwoWayTransformer(2, 16, 2, 32), iou_head_hidden_dim=16),
    ).eval()  # fmt: skip
    told = {"image": torch.rand(3, 64, 48) * 255, "original_size": (80, 60)}
    points = {"point_coords": torch.tensor([[[10.0, 20.0]]]), "point_labels": torch.ones(1, 1)}
    out = net([{**told, **points}], multimask_output=True)[0]
    return out["iou_predictions"], out["low_res_logits"][0, 0], out["masks"].float().mean()
