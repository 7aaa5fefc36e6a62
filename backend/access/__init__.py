"""Who may do what: principals, their tiers and grants, and the modes in which the server admits them."""
