"""The tasks of the trainer: each is a file that knows all of it, from the loss to the report."""
