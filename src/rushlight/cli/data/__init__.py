"""Pictures for the command line: found, looked at, decoded, kept, varied."""
