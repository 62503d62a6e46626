"""Joined kernels as the GPU runs them, and their trials there."""
