"""The news Thinker gives current headlines, of the day or about a topic, from a live service.

The advanced model words them, since a headline is short and easily misread. The user's time zone only decides which day
is 'today'. The same headlines serve all users on that date for five minutes, so the Thinker sees no conversation.
"""

from backend.thinkers.base import Manifest

MANIFEST = Manifest(
    domain="news",
    label="News",
    description=(
        "current events, breaking news, headlines, stories, what newspapers say, of the day or about a topic: "
        "politics, business, sports, science, entertainment"
    ),
    example="What's in the news about space?",
    examples=(
        "Give me the headlines.",
        "What is happening in the world?",
        "What's the latest about the economy?",
    ),
    prompt=(
        "You tell the news. Get headlines with get_news_headlines; never tell news from memory. For a question about "
        "a subject pass it as the topic; for 'sports news' and the like pass the category."
    ),
    tier="advanced",
    tools=("get_news_headlines",),
    cache_ttl_s=300,
    filler="Still looking through the headlines.",
    cache_scope="date",
    history_turns=0,
    preferences=("time_zone",),
)
