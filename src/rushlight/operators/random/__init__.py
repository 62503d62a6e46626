"""Random numbers: generators, draws, samples of distributions."""
