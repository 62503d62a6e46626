"""How gradients come about: the tape of what was computed, its nodes, and the walk back over them."""
