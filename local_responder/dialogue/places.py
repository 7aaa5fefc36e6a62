"""Places the demonstration's ears know by name; typed text may name any other."""

from __future__ import annotations

PLACES: tuple[str, ...] = (
    *("Seattle", "New York", "London", "Paris", "Tokyo", "Berlin", "Madrid", "Rome", "Vienna", "Amsterdam", "Brussels"),
    *("Chicago", "Boston", "Los Angeles", "San Francisco", "San Diego", "Houston", "Dallas", "Austin", "Miami"),
    *("Atlanta", "Denver", "Phoenix", "Portland", "Philadelphia", "Washington", "Detroit", "Minneapolis", "Baltimore"),
    *("Nashville", "Memphis", "New Orleans", "Las Vegas", "Salt Lake City", "Kansas City", "Honolulu", "Anchorage"),
    *("Toronto", "Montreal", "Vancouver", "Ottawa", "Calgary", "Mexico City", "Havana", "Lima", "Santiago", "Bogota"),
    *("Rio", "Buenos Aires", "Dublin", "Edinburgh", "Manchester", "Liverpool", "Glasgow", "Oxford", "Cambridge"),
    *("Munich", "Hamburg", "Frankfurt", "Cologne", "Zurich", "Geneva", "Milan", "Venice", "Florence", "Naples"),
    *("Barcelona", "Lisbon", "Athens", "Istanbul", "Moscow", "Warsaw", "Prague", "Budapest", "Stockholm", "Oslo"),
    *("Copenhagen", "Helsinki", "Reykjavik", "Cairo", "Nairobi", "Johannesburg", "Jerusalem", "Dubai", "Baghdad"),
    *("Delhi", "Mumbai", "Bombay", "Calcutta", "Bangkok", "Singapore", "Hong Kong", "Beijing", "Shanghai", "Taipei"),
    *("Seoul", "Osaka", "Kyoto", "Manila", "Jakarta", "Hanoi", "Sydney", "Melbourne", "Auckland", "Wellington"),
)
