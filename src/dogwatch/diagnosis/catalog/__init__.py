"""The causes as data: one file per family, each row with its patterns, advice and example lines that are tests."""
