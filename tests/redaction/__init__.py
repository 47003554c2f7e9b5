"""Redaction: secrets that must not get through, and ordinary lines that must."""
