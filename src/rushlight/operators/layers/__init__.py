"""What layers compute: convolution, pooling, normalisation, attention, embedding, recurrence."""
