"""What a tensor looks like: in a terminal, in a notebook, and in a sentence."""
