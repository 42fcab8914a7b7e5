"""The packages of Google Colab: in which versions, and what this package does there."""
