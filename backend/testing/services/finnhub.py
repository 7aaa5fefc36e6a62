"""Finnhub's documented JSON, for a local stand-in."""

from backend.testing.services.server import Reply, Request, json_reply

KEY = "finnhub-key"
FOUND = [
    {"description": "APPLE HOSPITALITY REIT", "displaySymbol": "APLE.MX", "symbol": "APLE.MX", "type": "Common Stock"},
    {"description": "APPLE INC", "displaySymbol": "AAPL", "symbol": "AAPL", "type": "Common Stock"},
    {"description": "APPLE INC WARRANT", "displaySymbol": "AAPW", "symbol": "AAPW", "type": "Equity WRT"},
]
QUOTE = {"c": 261.74, "d": -2.5, "dp": -0.9461, "h": 263.31, "l": 260.68, "o": 261.07, "pc": 264.24, "t": 1_795_200_000}
NO_QUOTE = {"c": 0, "d": None, "dp": None, "h": 0, "l": 0, "o": 0, "pc": 0, "t": 0}
PROFILE = {"name": "Apple Inc", "currency": "USD", "exchange": "NASDAQ NMS - GLOBAL MARKET", "ticker": "AAPL"}
METRIC = {"10DayAverageTradingVolume": 45.72731, "52WeekHigh": 277.32}


def answering(request: Request) -> Reply:
    """Answer one request, in good health."""
    if request.headers.get("x-finnhub-token") != KEY:
        return json_reply({"error": "Invalid API key"}, 401)
    symbol = request.query.get("symbol", "")
    match request.path:
        case "/search":
            found = FOUND if "apple" in request.query["q"].lower() else []
            return json_reply({"count": len(found), "result": found})
        case "/quote":
            return json_reply(QUOTE if symbol == "AAPL" else NO_QUOTE)
        case "/stock/profile2":
            return json_reply(PROFILE if symbol == "AAPL" else {})
        case "/stock/metric":
            return json_reply({"metric": METRIC if symbol == "AAPL" else {}, "metricType": "all", "symbol": symbol})
    return json_reply({"error": "not found"}, 404)
