"""The stocks Thinker gives share prices and today's changes, from a live service.

The model asks for all companies of a question in one round, one tool call each. 'My stocks' are the tickers that the
user watches or has asked about, which the tool knows. The Thinker sees neither them nor the conversation, so that users
can share answers. A quote is cached for at most a minute, since it becomes stale sooner than anything else.
"""

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
