"""What tests share: fixed keys, small bundles, and strategies."""
