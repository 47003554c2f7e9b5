"""One job's update: from what a poll said of it to its document, its events and what is remembered of it."""
