"""L2C: diverse, valid, sparse, actionable and plausible counterfactual explanations."""
