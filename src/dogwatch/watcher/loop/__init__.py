"""The loop that waits for the next due place, starts polls in threads and commits what a tick concluded."""
