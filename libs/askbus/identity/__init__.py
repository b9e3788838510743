"""Issuers of identities elsewhere: whom the deployment trusts, their keys, and what they say of a person (OpenID Connect)."""
