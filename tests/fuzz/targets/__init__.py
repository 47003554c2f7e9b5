"""One parser of foreign text per file: `target(data)` and `seeds()`."""
