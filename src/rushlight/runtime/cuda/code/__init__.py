"""CUDA code on its way to a launch: expressions, generated sources, compilation, variants, launches."""
