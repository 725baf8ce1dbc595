"""gs:// paths: local folders in their place (``--map``), and no waiting where there is no network."""
