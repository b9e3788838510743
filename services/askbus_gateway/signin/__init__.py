"""How people come in: passwords, issuers where they sign in, and the tokens of such issuers."""
