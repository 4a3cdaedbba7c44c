"""The mathematics of Newfound: arrays in, arrays out."""
