"""A tensor's memory: copies, casts, storage, exchange with other libraries."""
