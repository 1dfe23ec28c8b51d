"""Graphics items shared by the views: one item a layer, painted from arrays."""
