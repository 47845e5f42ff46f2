"""Two models by the scores of the same questions: rubrics, costs, and logs of evaluations."""
