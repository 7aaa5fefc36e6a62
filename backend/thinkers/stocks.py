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
    phrases=(
        "How is the stock market doing?",
        "Where does it stand today?",
        "Give me a quote, please.",
        "How much did it drop?",
        "Did Intel's stock rise or fall today?",
        "How much does one share of Disney cost?",
        "Is Nestlé up or down?",
        "How are the markets?",
        "How is Porsche doing?",
        "How are Nokia and Sanofi doing today?",
        "What's the stock price of that company?",
        "Check the shares of Philips for me.",
        "How did Renault close?",
        "What did it close at yesterday?",
        "Where is Samsung trading now?",
        "What is a share of Heineken worth?",
        "Has the share price gone up?",
        "Did the shares go up or down?",
        "How much has the stock lost this week?",
        "Has Bayer gained anything today?",
        "Is Puma in the red or in the green?",
        "How much would ten shares cost me?",
        "What's my portfolio doing?",
        "How is my stock performing?",
        "Tell me the quote of Unilever.",
        "What's the ticker price?",
        "I own shares of Lufthansa, how are they?",
        "Should I look at my shares today, how do they stand?",
        "How did Danone do on the exchange?",
        "Look up the stock of Ericsson.",
        "Is the share rising?",
        "How did Wall Street open?",
        "What's the value of one Rolex share?",
        "How expensive is Ferrari stock?",
        "At what price does Michelin trade?",
        "What about the shares of Honda?",
        "Which of my stocks fell?",
        "Is Peugeot making gains?",
        "Did Hyundai end the day higher or lower?",
    ),
)
