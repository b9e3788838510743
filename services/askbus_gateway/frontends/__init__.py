"""Front ends that own the conversation: what their vocabularies have in common, whichever of them is spoken."""
