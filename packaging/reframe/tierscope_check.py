"""ReFrame: measures a node's memory, and logs each figure in ReFrame's performance log.

    reframe -c tierscope_check.py -r
    reframe -c tierscope_check.py -r -S profile=standard -S golden=/etc/golden.yaml

tierscope has to be on PATH, or in a module (-S modules=tierscope). The test needs a node for
itself.
"""

import json
from pathlib import Path

import reframe as rfm
import reframe.utility.sanity as sn


@rfm.simple_test
class TierscopeCheck(rfm.RunOnlyRegressionTest):
    """A profile of tierscope, and golden values where they are given."""

    descr = "Memory of a node: bandwidth and latency of each path"
    profile = variable(str, value="quick")
    time_limit_of_run = variable(str, value="1min")
    golden = variable(str, value="")
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = "tierscope"
    exclusive_access = True
    num_tasks_per_node = 1
    time_limit = "10m"

    @run_before("run")
    def name_commands(self):
        """Measure, then judge; the first is allowed to have failed measurements (status 1)."""
        self.executable_opts = [
            "run", self.profile, "--time-limit", self.time_limit_of_run,
            "--out", "run.jsonl", "--json=run.json",
        ]  # fmt: skip
        if self.golden:
            check = f"tierscope check run.jsonl --expect {self.golden} --json=check.json"
            self.postrun_cmds = [f"{check}; echo check: $?"]

    @sanity_function
    def is_measured(self):
        """There is a figure; no golden value is missed. What could not be judged is no failure."""
        figures = sn.assert_true(self._figures(), "tierscope gave no figure")
        if not self.golden:
            return figures
        return sn.all([figures, sn.assert_found(r"^check: (0|3)$", self.stdout)])

    @run_before("performance")
    def name_variables(self):
        """A variable for each headline, by the measurement's id; a colon would end a name."""
        self.perf_variables = {
            name: sn.make_performance_function(sn.defer(value), unit)
            for name, value, unit in self._figures()
        }

    def _figures(self):
        file = Path(self.stagedir, "run.json")
        if not file.exists():
            return []
        return [
            (one["id"].replace(":", ""), figure["estimate"], figure["unit"])
            for one in json.loads(file.read_text())["results"]
            for figure in one["figures"][:1]
        ]
