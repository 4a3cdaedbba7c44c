"""The calibrated model."""
