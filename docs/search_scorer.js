// Pages that answer a question come before the reference, and what was measured after both.
// The names of Sphinx, which asks whether there is a `Scorer` of this kind.
var JOBS = /^(index|which|ten_minutes|quickstart|diff|label_first|language_models|tests_and_jobs|audit|monitor|comparison|stability_models|stability_features|agreement|novelty|training-loops|large_data|notebooks|files|run|gates|shifts)$/;
var RECORD = /^(reproduction|benchmarks|changelog|contributing|api\/generated)/;

/* How many of the words that were typed a title has: one of them is as good as all to Sphinx. */
function inTitle(title) {
  const asked = (new URLSearchParams(window.location.search).get("q") || "").toLowerCase().split(/\W+/);
  return asked.filter((word) => word.length > 1 && title.toLowerCase().includes(word.slice(0, 5))).length;
}

var Scorer = {
  score: ([page, title, , , score]) =>
    score + 3 * inTitle(title) + (JOBS.test(page) ? 8 : 0) - (RECORD.test(page) ? 8 : 0),
  objNameMatch: 11,
  objPartialMatch: 3,
  objPrio: { 0: 5, 1: 2, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
