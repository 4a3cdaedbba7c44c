"""The blocked sampler: the posterior of Algorithm 1 in other coordinates, and fast."""
