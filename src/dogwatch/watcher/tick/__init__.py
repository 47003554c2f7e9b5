"""One tick at one place: poll, follow, update each job, judge, queue notifications. May import job/, not loop/."""
