"""Matrix products, linear algebra, sparse matrices."""
