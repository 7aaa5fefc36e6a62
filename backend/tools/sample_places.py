"""The places that are known without the internet: well-known cities, as the geocoding service would name them.

They make sample data of a place out of the question for names that are none. Not a gazetteer: what is not in here is
said not to be known here.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

_LISTED = """
US United States: Albuquerque, New Mexico; Anchorage, Alaska; Atlanta, Georgia; Austin, Texas; Baltimore, Maryland;
Boston, Massachusetts; Buffalo, New York; Charlotte, North Carolina; Chicago, Illinois; Cincinnati, Ohio;
Cleveland, Ohio; Columbus, Ohio; Dallas, Texas; Denver, Colorado; Detroit, Michigan; El Paso, Texas; Honolulu, Hawaii;
Houston, Texas; Indianapolis, Indiana; Jacksonville, Florida; Kansas City, Missouri; Las Vegas, Nevada;
Los Angeles, California; Memphis, Tennessee; Miami, Florida; Milwaukee, Wisconsin; Minneapolis, Minnesota;
Nashville, Tennessee; New Orleans, Louisiana; New York, New York; New York City, New York; Oakland, California;
Oklahoma City, Oklahoma; Orlando, Florida; Paris, Texas; Philadelphia, Pennsylvania; Phoenix, Arizona;
Pittsburgh, Pennsylvania; Portland, Oregon; Portland, Maine; Sacramento, California; Salt Lake City, Utah;
San Antonio, Texas; San Diego, California; San Francisco, California; San Jose, California; Santa Fe, New Mexico;
Seattle, Washington; Spokane, Washington; Springfield, Illinois; Springfield, Massachusetts; St. Louis, Missouri;
Tampa, Florida; Tucson, Arizona; Washington, District of Columbia; Washington DC, District of Columbia;
Cambridge, Massachusetts
CA Canada: Calgary, Alberta; Edmonton, Alberta; Halifax, Nova Scotia; Montreal, Quebec; Ottawa, Ontario;
Quebec, Quebec; Toronto, Ontario; Vancouver, British Columbia; Victoria, British Columbia; Winnipeg, Manitoba
MX Mexico: Mexico City; Cancun; Guadalajara; Monterrey; Tijuana
GB United Kingdom: London, England; Bath, England; Belfast, Northern Ireland; Birmingham, England; Brighton, England;
Bristol, England; Cambridge, England; Cardiff, Wales; Edinburgh, Scotland; Glasgow, Scotland; Leeds, England;
Liverpool, England; Manchester, England; Newcastle, England; Oxford, England; York, England
IE Ireland: Dublin; Cork; Galway
FR France: Paris; Bordeaux; Brest; Lille; Lyon; Marseille; Nantes; Nice; Strasbourg; Toulouse
DE Germany: Berlin; Bremen; Cologne; Köln; Dresden; Düsseldorf; Frankfurt; Hamburg; Hannover; Heidelberg; Leipzig;
Munich; München; Nuremberg; Nürnberg; Stuttgart
AT Austria: Vienna; Wien; Graz; Innsbruck; Linz; Salzburg
CH Switzerland: Bern; Basel; Geneva; Lausanne; Lucerne; Zurich
IT Italy: Rome; Bologna; Florence; Genoa; Milan; Naples; Palermo; Turin; Venice; Verona
ES Spain: Madrid; Barcelona; Bilbao; Granada; Malaga; Seville; Valencia
PT Portugal: Lisbon; Porto
NL Netherlands: Amsterdam; Rotterdam; The Hague; Utrecht
BE Belgium: Brussels; Antwerp; Bruges; Ghent
LU Luxembourg: Luxembourg
DK Denmark: Copenhagen; Aarhus
NO Norway: Oslo; Bergen; Stavanger; Tromsø; Trondheim
SE Sweden: Stockholm; Gothenburg; Malmö
FI Finland: Helsinki; Tampere; Turku
IS Iceland: Reykjavik
PL Poland: Warsaw; Gdansk; Krakow; Wroclaw
CZ Czechia: Prague; Brno
SK Slovakia: Bratislava
HU Hungary: Budapest
RO Romania: Bucharest
BG Bulgaria: Sofia
GR Greece: Athens; Thessaloniki
HR Croatia: Zagreb; Dubrovnik; Split
SI Slovenia: Ljubljana
RS Serbia: Belgrade
BA Bosnia and Herzegovina: Sarajevo
AL Albania: Tirana
EE Estonia: Tallinn
LV Latvia: Riga
LT Lithuania: Vilnius
UA Ukraine: Kyiv; Lviv; Odesa
BY Belarus: Minsk
RU Russia: Moscow; Saint Petersburg
TR Turkey: Ankara; Istanbul; Izmir
CY Cyprus: Nicosia
MT Malta: Valletta
IL Israel: Jerusalem; Haifa; Tel Aviv
LB Lebanon: Beirut
JO Jordan: Amman
IQ Iraq: Baghdad
IR Iran: Tehran
SA Saudi Arabia: Riyadh; Jeddah; Mecca
AE United Arab Emirates: Abu Dhabi; Dubai
QA Qatar: Doha
KW Kuwait: Kuwait City
EG Egypt: Cairo; Alexandria
MA Morocco: Casablanca; Marrakesh; Rabat
DZ Algeria: Algiers
TN Tunisia: Tunis
NG Nigeria: Lagos; Abuja
GH Ghana: Accra
SN Senegal: Dakar
ET Ethiopia: Addis Ababa
KE Kenya: Nairobi; Mombasa
TZ Tanzania: Dar es Salaam
UG Uganda: Kampala
ZA South Africa: Cape Town; Durban; Johannesburg; Pretoria
IN India: New Delhi; Delhi; Mumbai; Bangalore; Bengaluru; Chennai; Hyderabad; Kolkata; Pune
PK Pakistan: Islamabad; Karachi; Lahore
BD Bangladesh: Dhaka
LK Sri Lanka: Colombo
NP Nepal: Kathmandu
CN China: Beijing; Chengdu; Guangzhou; Shanghai; Shenzhen; Wuhan; Xi'an
HK Hong Kong: Hong Kong
TW Taiwan: Taipei
JP Japan: Tokyo; Hiroshima; Kobe; Kyoto; Nagoya; Osaka; Sapporo; Yokohama
KR South Korea: Seoul; Busan
SG Singapore: Singapore
TH Thailand: Bangkok; Chiang Mai
VN Vietnam: Hanoi; Ho Chi Minh City
MY Malaysia: Kuala Lumpur
ID Indonesia: Jakarta; Bali
PH Philippines: Manila
AU Australia: Adelaide; Brisbane; Canberra; Darwin; Melbourne; Perth; Sydney
NZ New Zealand: Auckland; Christchurch; Wellington
BR Brazil: Brasilia; Rio de Janeiro; Salvador; Sao Paulo
AR Argentina: Buenos Aires; Cordoba
CL Chile: Santiago; Valparaiso
CO Colombia: Bogota; Medellin
PE Peru: Lima; Cusco
EC Ecuador: Quito
BO Bolivia: La Paz
UY Uruguay: Montevideo
PY Paraguay: Asuncion
VE Venezuela: Caracas
CU Cuba: Havana
JM Jamaica: Kingston
PR Puerto Rico: San Juan
PA Panama: Panama City
CR Costa Rica: San Jose
"""


@dataclass(frozen=True, slots=True)
class KnownPlace:
    """A place, with the names that distinguish it from its namesakes."""

    name: str
    admin1: str
    country: str
    country_code: str
    admin2: str = ""


def places_named(name: str) -> Sequence[KnownPlace]:
    """Return the places of that name, whatever its case and accents, the best known first."""
    return _by_name().get(_plain(name), ())


@cache
def _by_name() -> dict[str, list[KnownPlace]]:
    found: dict[str, list[KnownPlace]] = {}
    for place in _places():
        found.setdefault(_plain(place.name), []).append(place)
    for namesakes in found.values():  # a place that stands for itself is better known than one with a region
        namesakes.sort(key=lambda place: bool(place.admin1) and place.admin1 != "England")
    return found


def _places() -> Iterator[KnownPlace]:
    country = code = ""
    for line in _LISTED.strip().splitlines():
        head, colon, rest = line.partition(": ")
        if colon:
            code, _, country = head.partition(" ")
        for entry in (rest or line).rstrip(";").split(";"):
            name, _, region = entry.strip().partition(", ")
            yield KnownPlace(name, region, country, code)


def _plain(name: str) -> str:
    decomposed = unicodedata.normalize("NFKD", name.casefold().replace("ø", "o"))
    return "".join(each for each in decomposed if each.isalnum())
