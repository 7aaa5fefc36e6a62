"""The ways in which a JSON service gives no usable answer."""

import pytest

from backend.testing.services.server import Reply, json_reply, text_reply

TROUBLES = {
    "429": json_reply({"error": "API limit reached."}, 429),
    "500": json_reply({}, 500),
    "502": text_reply("<html>bad gateway</html>", 502),
    "html": text_reply("<html>welcome to the hotel wifi</html>"),
    "a list": json_reply([{"odd": 1}]),
    "odd": json_reply({"c": "x", "result": 3, "results": "none", "articles": 3, "web": 3, "esearchresult": 3}),
    "no answer": Reply(breaks_off=True),
    "broken off": Reply(parts=[b'{"c'], breaks_off=True),
}
every_trouble = pytest.mark.parametrize("trouble", TROUBLES.values(), ids=TROUBLES.keys())
