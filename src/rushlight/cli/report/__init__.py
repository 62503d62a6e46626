"""What came out of a run or a test: numbers, charts, pages."""
