"""Whatever others do to files meanwhile, no byte of theirs is lost.

Each attempt is a seed. It makes files of others and lets commands keep files of their own; then
others rewrite, replace, link, copy, mount or edit something, commands are killed in the midst of
their work or run beside each other, and further ones read, write and clean. Files of others are
held open, so that they are found whatever their names lead to.
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

import forked
from waiting import wait_until

PROGRAM = [sys.executable, "-c", "from tierscope.cli.main import main; main()"]
LIST = ".tierscope-files.json"
BYTES = 1 << 20
STATUSES = {0, 1, 2, 3, 130}
"""Those that docs/cli.md names."""
FIRST_SEED = int(os.environ.get("TIERSCOPE_FIRST_SEED", "100"))
"""Of the soak, which tries other seeds where it is another one."""
HUNDREDS = int(os.environ.get("TIERSCOPE_HUNDREDS", "10"))
"""Hundreds of attempts that the soak makes."""


class Theirs:
    """A file of others: what it holds must stay, and so must its name count."""

    def __init__(self, path: Path, content: bytes) -> None:
        self.path = path
        self.content = content
        with path.open("r+b" if path.exists() else "wb") as file:
            file.write(content)
            file.truncate()
        self.file = os.open(path, os.O_RDONLY)
        self.links = os.fstat(self.file).st_nlink

    def damage(self) -> str:
        """What was lost; empty where nothing was."""
        now = os.fstat(self.file)
        if now.st_nlink < self.links:
            return f"{self.path} was removed"
        if now.st_size != len(self.content):
            return f"{self.path} has {now.st_size} bytes, not {len(self.content)}"
        if os.pread(self.file, now.st_size, 0) != self.content:
            return f"{self.path} has other contents"
        return ""


class Attempt:
    """One seed in a directory."""

    def __init__(self, seed: int, root: Path) -> None:
        self.random = random.Random(seed)
        self.root = root
        self.data = root / "data"
        self.elsewhere = root / "elsewhere"
        self.did: list[str] = []
        """What was done, to be told where something was lost."""
        self.theirs: list[Theirs] = []
        self.undo = ExitStack()
        for folder in (self.data, self.elsewhere):
            folder.mkdir()
        for path in (self.data / "report.txt", self.elsewhere / "data.0", root / "notes"):
            self.own(path, 3000)

    def own(self, path: Path, size: int) -> Theirs:
        """Have others write a file, in place where it is there."""
        self.theirs.append(Theirs(path, self.random.randbytes(size)))
        return self.theirs[-1]

    def is_theirs(self, path: Path) -> bool:
        """Whether a name leads to a file of others, whichever name they made it by."""
        found = path.stat()
        return any(os.path.samestat(found, os.fstat(one.file)) for one in self.theirs)

    def words(self, writes: bool) -> list[str]:
        """A command over the directory's files, by any of the programs that make some."""
        data, short = str(self.data), ["--size", "1m", "--budget", "0.05"]
        operation = self.random.choice(["write", "mix"]) if writes else "read"
        io = ["io", "--to", f"file:{data}", "--keep", "--block-size", "4k", "--op", operation]
        rw = self.random.choice(["write", "randwrite", "randrw"]) if writes else "randread"
        fio = ["fio", "--name=job", f"--directory={data}", "--size=1m", "--bs=4k", f"--rw={rw}"]
        gdsio = ["gdsio", "-D", data, "-d", "0", "-x", "1", "-w", "2", "-s", "1M", "-i", "64K"]
        gdsio += ["-I", "1" if writes else "0"]
        return self.random.choice([[*io, *short], fio, gdsio])

    def run(self, *words: str) -> None:
        """Run a command to its end; whatever it refuses, it says so in an exit status."""
        self.did.append(" ".join(words))
        done = forked.tierscope(*words, environment={"XDG_DATA_HOME": str(self.root / "out")})
        assert done.returncode in STATUSES, (self.did, done.stderr)
        assert "Traceback" not in done.stderr, (self.did, done.stderr)

    def start(self, *words: str) -> "subprocess.Popen[bytes]":
        """Start a command in a process group of its own."""
        self.did.append(f"start {' '.join(words)}")
        return subprocess.Popen(
            [*PROGRAM, *words],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "XDG_DATA_HOME": str(self.root / "out")},
            start_new_session=True,
        )

    def clean(self) -> None:
        self.run("storage", str(self.data), "--clean")

    # What others do

    def kept(self) -> Path:
        """A file that a command kept; of others where there is none."""
        names = [p for p in sorted(self.data.iterdir()) if p.is_file() and p.name != LIST]
        return self.random.choice(names)

    def rewrite(self) -> None:
        """As `cp x data.bin`: as long, shorter or longer than before."""
        path = self.kept()
        if path.is_symlink() or self.is_theirs(path):
            return
        self.own(path, self.random.choice([BYTES, 5000, 1, 2 * BYTES + 7, path.stat().st_size]))

    def change_one_byte(self) -> None:
        """A byte of the last sector of a file that ends within one is beyond what is known."""
        path = self.kept()
        if path.is_symlink() or self.is_theirs(path):
            return
        content = bytearray(path.read_bytes())
        content[self.random.randrange(len(content))] ^= 1 << self.random.randrange(8)
        self.theirs.append(Theirs(path, bytes(content)))

    def replace(self) -> None:
        """A file of others takes the name."""
        path = self.kept()
        mine = self.own(self.root / f"new{len(self.theirs)}", BYTES)
        if not self.is_theirs(path):
            mine.path.rename(path)

    def link(self) -> None:
        """The name leads elsewhere, or a file of others has it, too."""
        path, mine = self.kept(), self.own(self.root / f"linked{len(self.theirs)}", BYTES)
        if self.is_theirs(path):
            return
        path.unlink()
        if self.random.random() < 0.5:
            path.symlink_to(mine.path)
        else:
            os.link(mine.path, path)
            mine.links += 1

    def copy_over(self) -> None:
        """Another file's contents, a kept one's perhaps, under this name in place."""
        path, other = self.kept(), self.kept()
        if path == other or path.is_symlink() or self.is_theirs(path):
            return
        self.theirs.append(Theirs(path, other.read_bytes()))

    def copy_directory(self) -> None:
        """A copy with names, times and attributes: no file in it is tierscope's."""
        copied = self.root / f"copy{len(self.theirs)}"
        subprocess.run(["cp", "-a", str(self.data), str(copied)], check=True)
        for path in copied.iterdir():
            if path.is_file() and path.name != LIST:
                self.theirs.append(Theirs(path, path.read_bytes()))
        self.run("storage", str(copied), "--clean")
        self.run("gdsio", "-D", str(copied), "-x", "1", "-w", "2", "-s", "1M", "-i", "64K",
                 "-I", "1", "-d", "0")  # fmt: skip

    def edit_list(self) -> None:
        """The list loses a line, gets one twice, has a bit changed, or names another file."""
        path = self.data / LIST
        if not path.exists():
            return
        lines = path.read_bytes().splitlines(keepends=True)
        at = self.random.randrange(len(lines))
        how = self.random.randrange(5)
        if how == 0:
            del lines[at]
        elif how == 1:
            lines.append(lines[at])
        elif how == 2:
            line = bytearray(lines[at])
            line[self.random.randrange(len(line))] ^= 1
            lines[at] = bytes(line)
        elif how == 3:
            lines[at] = lines[at].replace(self.kept().name.encode(), b"report.txt")
        else:
            lines[-1] = lines[-1][: len(lines[-1]) // 2]
        path.write_bytes(b"".join(lines))

    def mount_over(self) -> None:
        """A file of others is mounted over the name."""
        path, mine = self.kept(), self.own(self.root / f"mounted{len(self.theirs)}", BYTES)
        if os.geteuid() != 0 or path.is_symlink():
            return
        done = subprocess.run(["mount", "--bind", str(mine.path), str(path)], check=False)
        if done.returncode == 0:
            self.undo.callback(subprocess.run, ["umount", "--lazy", str(path)], check=False)

    def kill(self) -> None:
        """A command that ends in the midst of filling, measuring or cleaning."""
        words = self.words(writes=self.random.random() < 0.7)
        if self.random.random() < 0.3:
            words = ["storage", str(self.data), "--clean"]
        process = self.start(*words)
        time.sleep(self.random.uniform(0.2, 1.2))
        engines = _children_of(process.pid)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        wait_until(lambda: not any(map(_is_engine, engines)), "its engine ends")

    def beside(self) -> None:
        """Two commands at once."""
        both = [self.start(*self.words(writes=True)), self.start(*self.words(writes=False))]
        if self.random.random() < 0.5:
            self.clean()
        assert all(process.wait() in STATUSES for process in both), self.did

    def race(self) -> None:
        """Names are swapped with files of others, and kept files rewritten, while commands read
        and clean."""
        stop = threading.Event()
        mine = self.own(self.root / f"raced{len(self.theirs)}", BYTES)
        seed = self.random.random()

        def swap() -> None:
            order = random.Random(seed)
            while not stop.wait(order.uniform(0.0, 0.02)):
                with suppress(OSError, IndexError):
                    path = self.kept()
                    if path != mine.path and not path.is_symlink():
                        spare = self.root / "spare"
                        path.rename(spare)
                        mine.path.rename(path)
                        path.rename(mine.path)
                        spare.rename(path)

        racer = threading.Thread(target=swap)
        racer.start()
        try:
            self.run(*self.words(writes=self.random.random() < 0.5))
            self.clean()
        finally:
            stop.set()
            racer.join()

    def act(self) -> None:
        acts: list[Callable[[], None]] = [
            self.rewrite, self.rewrite, self.change_one_byte, self.replace, self.link,
            self.copy_over, self.copy_directory, self.edit_list, self.mount_over, self.kill,
            self.beside, self.race,
        ]  # fmt: skip
        chosen = self.random.choice(acts)
        self.did.append(chosen.__name__)
        chosen()

    def attempt(self) -> None:
        self.run(*self.words(writes=self.random.random() < 0.5))
        for _ in range(self.random.choice([1, 1, 2, 3])):
            self.act()
        self.run(*self.words(writes=False))
        self.run(*self.words(writes=True))
        self.clean()

    def lost(self) -> list[str]:
        return [damage for one in self.theirs if (damage := one.damage())]

    def close(self) -> None:
        self.undo.close()
        for one in self.theirs:
            os.close(one.file)


def _children_of(process: int) -> list[int]:
    with suppress(OSError):
        return [*map(int, Path(f"/proc/{process}/task/{process}/children").read_text().split())]
    return []


def _is_engine(process: int) -> bool:
    """Whether it is alive: one that is left behind ends in order, with the command that it had."""
    with suppress(OSError):
        name, state = Path(f"/proc/{process}/stat").read_text().partition("(")[2].rsplit(")", 1)
        return name.startswith("tierscope-engi") and state.split()[0] != "Z"
    return False


def attempt(seed: int, root: Path) -> None:
    root.mkdir()
    made = Attempt(seed, root)
    try:
        made.attempt()
        assert made.lost() == [], (seed, made.did)
        assert len(made.theirs) >= 3
    finally:
        made.close()
    shutil.rmtree(root)


@pytest.mark.parametrize("seed", range(12))
def test_no_byte_of_others_is_lost(seed: int, tmp_path: Path) -> None:
    attempt(seed, tmp_path / "root")


@pytest.mark.soak
@pytest.mark.parametrize("hundred", range(HUNDREDS))
def test_no_byte_of_others_is_lost_in_hundreds_of_attempts(hundred: int, tmp_path: Path) -> None:
    for seed in range(FIRST_SEED + 100 * hundred, FIRST_SEED + 100 * (hundred + 1)):
        attempt(seed, tmp_path / str(seed))
