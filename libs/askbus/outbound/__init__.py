"""Requests that leave the deployment for addresses that somebody else chose: checked, bounded, and never redirected."""
