"""The cluster side of prefdex: from a corpus and preferences to signed bundles."""
