"""The recorded program as plain data: its instructions, its memory, and how it is shown."""
