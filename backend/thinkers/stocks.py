"""Share prices and how they moved today, from a live service.

The model asks for all companies of a question in one round, one tool call each. 'My stocks' are the tickers the user
has asked to watch or asked about, which the tool knows: they and the conversation are not shown, so that answers can be
shared between users. A quote is served again for a minute at most: it is stale sooner than anything else here.
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
        "What are my shares worth?",
    ),
    prompt=(
        "You answer questions about share prices. Get them with get_stock_price, one call for each company, all at "
        "once; never guess a price. If the user asks about their own stocks, call it once without a symbol."
    ),
    tools=("get_stock_price", "remember_preference"),
    cache_ttl_s=60,
    filler="Still getting the quote.",
    cache_scope="date",
    history_turns=0,
    preferences=("time_zone",),
)
