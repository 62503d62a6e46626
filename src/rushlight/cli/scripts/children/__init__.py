"""A folder on the module path of processes that an aliased program starts: Python imports its `sitecustomize` first."""
