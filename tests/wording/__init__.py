"""What people read: the list of every sentence, and the words that stay out of it."""
