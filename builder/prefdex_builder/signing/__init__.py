"""Keys and signatures: TUF metadata, signed through securesystemslib by URI."""

from .bundles import BundleSigner
from .keys import KeySet, init_keys

__all__ = ["BundleSigner", "KeySet", "init_keys"]
