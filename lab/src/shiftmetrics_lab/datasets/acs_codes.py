"""Codes of the American Community Survey that the recipes need: indicators, occupations, states."""

from __future__ import annotations

# fmt: off
MARITAL = ("married", "widowed", "divorced", "separated", "never")
RELATION = (
    "reference", "husband/wife", "biologicalson", "adoptedson", "stepson", "brother", "father",
    "grandchild", "parentinlaw", "soninlaw", "other", "roomer", "housemate", "unmarried", "foster",
    "nonrelative", "institutionalized", "noninstitutionalized",
)
RACE = (
    "white", "black", "am_ind", "alaska", "am_alaska", "asian", "hawaiian", "other", "two_or_more",
)
WORKER = (
    "employee_profit", "employee_nonprofit", "localgovernment", "stategovernment", "federalgovernment",
    "selfemployed_own", "selfemployed_incorporated", "family_business", "unemployed",
)
CITIZENSHIP = ("us", "pr", "abroad", "citizen", "not")
EMPLOYMENT = ("employed", "partial_employed", "unemployed", "armed", "partial_armed", "no")
# Census occupation codes (hundreds, both ends included) of the major groups.
OCCUPATION = {
    "MGR": (0, 4), "BUS": (5, 7), "FIN": (8, 9), "CMM": (10, 12), "ENG": (13, 15), "SCI": (16, 19),
    "CMS": (20, 20), "LGL": (21, 21), "EDU": (22, 25), "ENT": (26, 29), "MED": (30, 35), "HLS": (36, 36),
    "PRT": (37, 39), "EAT": (40, 41), "CLN": (42, 42), "PRS": (43, 46), "SAL": (47, 49), "OFF": (50, 59),
    "FFF": (60, 61), "CON": (62, 67), "EXT": (68, 69), "RPR": (70, 76), "PRD": (77, 89), "TRN": (90, 97),
    "MIL": (98, 98), "no": (99, 99),
}
LARGE_OCCUPATION = {
    "Lg": ("MGR", "BUS", "FIN", "LGL", "EDU", "ENT"),
    "Semi_Lg": ("CMM", "ENG", "SCI", "CMS", "MED", "HLS", "PRS", "SAL", "OFF", "RPR"),
    "Non_Lg": ("PRT", "EAT", "CLN", "FFF", "CON", "EXT", "PRD", "TRN", "MIL", "no"),
}
# The Census numbers of the states, as they stand in file names.
STATES = {
    "AL": "01", "AK": "02", "AZ": "04", "AR": "05", "CA": "06", "CO": "08", "CT": "09", "DE": "10",
    "DC": "11", "FL": "12", "GA": "13", "HI": "15", "ID": "16", "IL": "17", "IN": "18", "IA": "19",
    "KS": "20", "KY": "21", "LA": "22", "ME": "23", "MD": "24", "MA": "25", "MI": "26", "MN": "27",
    "MS": "28", "MO": "29", "MT": "30", "NE": "31", "NV": "32", "NH": "33", "NJ": "34", "NM": "35",
    "NY": "36", "NC": "37", "ND": "38", "OH": "39", "OK": "40", "OR": "41", "PA": "42", "RI": "44",
    "SC": "45", "SD": "46", "TN": "47", "TX": "48", "UT": "49", "VT": "50", "VA": "51", "WA": "53",
    "WV": "54", "WI": "55", "WY": "56", "PR": "72",
}
# fmt: on
