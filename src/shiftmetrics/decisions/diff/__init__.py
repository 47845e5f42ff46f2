"""Is the new model safe to ship: the changed predictions of two models, and what labels say of them."""
