"""Every provider driven through everything that can go wrong, judged by what a caller hears."""
