"""Decision trees and sums of them: one format, and the effect of changes of their inputs."""

from shiftmetrics.models.forests.forest import Forest as Forest
from shiftmetrics.models.forests.reading import forest_of as forest_of
