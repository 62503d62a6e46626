"""Fourier transforms and the windows used with them."""
