"""Attachments: files that people send with a message, and pictures that a tool made."""
