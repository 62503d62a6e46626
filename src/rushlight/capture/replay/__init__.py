"""Replaying a program in place of the call that it was recorded from."""
