"""The release gate: rules about results, checked on the cautious side, with an outcome for each.

A rule names results, a field and a bound. What is uncertain counts against passing: sampling, by the unfavourable end
of an interval; numerical error; and what a search may have missed, by its certified bound. A rule that cannot be
checked is an error, never a pass.
"""

from shiftmetrics.rules.checking import check_results
from shiftmetrics.rules.outcomes import RulesResult
from shiftmetrics.rules.rule import Rule, read_rules

__all__ = ["Rule", "RulesResult", "check_results", "read_rules"]
