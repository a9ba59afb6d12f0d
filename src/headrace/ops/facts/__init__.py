"""Facts of nodes, and the walks over a plan that compute them. This package knows no concrete operator."""
