"""Passes for networks whose steps are bound by launches: what one small kernel can do is joined into it."""
