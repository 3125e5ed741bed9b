"""A run whose every name would like to be something else."""

from tests import synthetic

from tierscope.model.path import Limit
from tierscope.model.run import Run

_ATTACK = "window.hacked=1"
STRINGS = (
    f"<script>{_ATTACK}</script>",
    f'"><img src=x onerror={_ATTACK}>',
    f"</script><script>{_ATTACK}</script>",
    f"'-{_ATTACK}-'",
    "{{ 7 * 7 }}{% raw %}",
    f"</style></svg><svg onload={_ATTACK}>",
    "]]><!--",
    '=HYPERLINK("http://example.invalid")',
    "role:ink",
    "&lt;b&gt;\u202e\x1b[31m",
    "javascript:window.hacked=1",
)


def hostile_run() -> Run:
    """Every text of a run file that comes from a machine or a user."""
    maker = synthetic.Maker()
    measurements = []
    for number, text in enumerate(STRINGS):
        limit = Limit(value=40e9, unit="B/s", link=text, formula=text, source=text)
        for threads in (1, 2, 4):
            pattern = {"operation": text, "order": "sequential", "access_size": 64,
                       "size": 1 << 30, "pages": text, "threads": threads}  # fmt: skip
            measurements.append(
                maker.make("bandwidth", f"file:/{text}", f"pmem:/{text}", pattern,
                           (number + 1) * threads * 1e9, limit=limit)
            )  # fmt: skip
        measurements.append(maker.make(text, text, text, {text: text}, 5e9, metric=text))
        sweep = [{"order": text, "size": 4096 << n, "pages": text} for n in range(6)]
        measurements += [
            maker.make("latency", text, text, pattern, 10.0 + number, "ns") for pattern in sweep
        ]
    skipped = [
        m.model_copy(update={"id": f"s{i}", "status": "skipped", "reason": m.kind,
                             "remedy": m.kind})
        for i, m in enumerate(measurements)
        if m.kind in STRINGS
    ]  # fmt: skip
    machine = synthetic.header().machine
    nasty = STRINGS[0]
    topology = synthetic.topology().model_copy(update={"host": nasty, "cpu_model": STRINGS[5]})
    return synthetic.run(
        measurements,
        skipped,
        host=nasty,
        command=list(STRINGS),
        tierscope=STRINGS[1],
        environment={text: text for text in STRINGS},
        machine={**machine, "cpu": STRINGS[1], "product": STRINGS[2], "hypervisor": STRINGS[3],
                 "gpus": [{"index": 0, "name": STRINGS[5]}]},
        engine={"engine": STRINGS[0], "compiler": STRINGS[2]},
        topology=topology,
    )  # fmt: skip
