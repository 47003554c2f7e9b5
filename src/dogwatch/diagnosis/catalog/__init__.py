"""The causes as data: one file per family, each row with its patterns and advice. Lines that show each of them are in
tests/diagnosis/examples.txt."""
