"""The paper's model."""
