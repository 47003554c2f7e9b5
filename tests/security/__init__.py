"""Attacks, performed for real: by job files, by hosts, by links, by secrets in logs."""
