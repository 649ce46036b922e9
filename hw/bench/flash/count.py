# SPDX-License-Identifier: BSD-3-Clause
"""Print how many tests of a GoogleTest JSON report passed and failed; skipped ones count as neither.  Usage: count.py FILE"""

import json
import sys
from pathlib import Path

report = json.loads(Path(sys.argv[1]).read_text())
tests = [test for suite in report["testsuites"] for test in suite["testsuite"]]
failed = sum("failures" in test for test in tests)
passed = sum(test["result"] == "COMPLETED" for test in tests) - failed
print(passed, failed)
