"""Statistics that any analysis uses: estimates, quantiles, slopes, steady state, scalability."""
