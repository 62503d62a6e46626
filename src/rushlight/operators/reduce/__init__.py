"""Many elements to few, or to an order: sums, extremes, statistics, scans, sorting."""
