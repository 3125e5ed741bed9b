"""Options that several commands below ``tierscope place`` have."""

import click

policy_option = click.option(
    "--policy",
    metavar="POLICY",
    help="local, bind, preferred, preferred-many, interleave, weighted  [default: bind; weighted "
    "where --to has weights]",
)
to_option = click.option(
    "--to",
    metavar="NODES",
    help="Nodes: node:0,2@3:1, or as numactl writes them: 0-2, all, !1, +0, netdev:eth0, "
    "file:/data, pci:01:00.0",
)
balancing_option = click.option(
    "--balancing",
    is_flag=True,
    help="Let NUMA balancing move pages among the nodes (bind, preferred-many)",
)
