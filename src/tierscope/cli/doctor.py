"""``tierscope doctor``."""

import click

from tierscope.cli import options


@options.command()
@click.option(
    "--storage",
    metavar="[PATH]",
    is_flag=False,
    flag_value=".",
    help="Look at direct transfers between storage and GPUs: cufile.json, ACS, IOMMU, BAR1, "
    "nvidia-fs, P2PDMA, RDMA, and the way that files at PATH would take",
)
@click.option(
    "--cufile-json",
    metavar="FILE",
    help="With --storage: the cufile.json to look through  [default: as cuFile finds it]",
)
@click.option(
    "--fsroot",
    metavar="DIR",
    help="With --storage: copy of another machine's /sys, /proc, /etc and /run",
)
@options.json_option
@click.pass_context
def doctor(
    context: click.Context,
    storage: str | None,
    cufile_json: str | None,
    fsroot: str | None,
    json: str | None,
) -> None:
    """Say what can be measured here, what cannot and why, and which settings distort figures.

    Exit status: 0, whatever was found; 2 where there is no engine, or cufile.json or the path
    cannot be read.

    \b
    Examples:
      tierscope doctor
      tierscope doctor --json
      tierscope doctor --storage /data
      tierscope doctor --storage --cufile-json my_cufile.json
    """
    if storage is None:
        from tierscope.cli.doctor_flow import examine

        options.refuse_given(context, "it goes with --storage", "cufile_json", "fsroot")
        examine(options.Forms(json))
        return
    from tierscope.cli.doctor_storage_flow import examine_storage

    examine_storage(storage, cufile_json, fsroot, options.Forms(json))
