"""Share prices and how they moved today, from a live service.

The model asks for all companies of a question at once, one tool call each. 'My stocks' are the tickers the user has
asked to watch. A quote is served again for a minute at most: it is stale sooner than anything else here.
"""

from __future__ import annotations

from backend.thinkers.base import Manifest

MANIFEST = Manifest(
    domain="stocks",
    label="Stocks",
    description=(
        "share prices on the stock market and how they moved: what a company trades at, closed at or is worth, "
        "whether shares gained or fell"
    ),
    example="How is Apple stock doing?",
    examples=(
        "What is the price of Tesla shares?",
        "How is the stock market doing?",
        "Did Intel's stock rise or fall today?",
        "What are my shares worth?",
        "How much does one share of Disney cost?",
        "Is Nestlé up or down?",
    ),
    prompt=(
        "You answer questions about share prices. Get them with get_stock_price, one call for each company, all at "
        "once; never guess a price. If the user asks about their own stocks, those are the watched tickers, if any are "
        "known."
    ),
    tools=("get_stock_price", "remember_preference"),
    cache_ttl_s=60,
    filler="Still getting the quote.",
    preferences=("watched_tickers", "time_zone"),
)
