"""Expiry: moves what is past its time to `expired`, and deletes what retention ends. Any number may run."""
