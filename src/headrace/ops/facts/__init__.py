"""Facts of nodes: what they are, and the walks over a plan that compute them. Knows no concrete operator: it asks each."""
