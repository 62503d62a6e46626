"""A training run of the command line: its network, its loop, its files, its ranks."""
