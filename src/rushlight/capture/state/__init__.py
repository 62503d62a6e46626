"""The Python state that a recorded call depends on: found, named, and checked before each replay."""
