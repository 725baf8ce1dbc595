"""Notebooks: executed as Jupyter does, and the habits of Colab in live ones."""
