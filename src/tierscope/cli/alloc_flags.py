"""``tierscope alloc flags``."""

import click

from tierscope.cli import options


@options.command("flags")
@click.option("--compile", "only", flag_value="compile", help="Only the compiler's options")
@click.option("--link", "only", flag_value="link", help="Only the linker's options")
@click.option("--libdir", "only", flag_value="libdir", help="Only the libraries' folder")
@click.option("--hmalloc", is_flag=True, help="For libhmalloc.so, HMSDK's interface")
@options.json_option
def flags(only: str | None, hmalloc: bool, json: str | None) -> int:
    """Print the options that compile a program with the allocator and link it.

    \b
    Examples:
      cc program.c $(tierscope alloc flags) -o program
      tierscope alloc flags --link
      LD_LIBRARY_PATH="$(tierscope alloc flags --libdir)" tierscope hmctl -m 2 ./program
    """
    from json import dumps

    from tierscope.cli.forms import emit
    from tierscope.placement.allocator import compile_flags, libraries, link_flags

    parts = {
        "compile": " ".join(compile_flags()),
        "link": " ".join(link_flags("hmalloc" if hmalloc else "tierscope-alloc")),
        "libdir": str(libraries()),
    }
    text = parts[only] if only else f"{parts['compile']} {parts['link']}"
    emit(options.Forms(json), lambda: dumps(parts), lambda: click.echo(text))
    return 0
