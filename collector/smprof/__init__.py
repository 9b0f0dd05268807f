"""Records GPU training profiles. Importing it loads nothing: the recorder's parts load when first used."""

__version__ = "0.1.0"
