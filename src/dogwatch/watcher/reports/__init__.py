"""Files written about jobs: the experiment log and the bundles of failures."""
