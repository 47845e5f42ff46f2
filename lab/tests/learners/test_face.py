"""Without torch the learners say how to get it; data sets load no framework."""

import subprocess
import sys


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_a_missing_torch_is_said_with_its_remedy():
    ended = run("import sys; sys.modules['torch'] = None; import shiftmetrics_lab.learners")
    assert ended.stderr.splitlines()[-1] == (
        "ImportError: shiftmetrics_lab.learners needs torch: pip install 'shiftmetrics[torch]'"
    )


def test_data_sets_need_no_framework():
    names = "('torch', 'sklearn', 'pandas', 'matplotlib', 'PIL')"
    ended = run(
        f"import sys, shiftmetrics_lab.datasets; print([name for name in {names} if name in sys.modules])"
    )
    assert ended.stdout.strip() == "[]", ended.stderr
