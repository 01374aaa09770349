# SPDX-License-Identifier: Apache-2.0

"""Compilers and their cost, for the scripts compile_time and include_cost."""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent

GNU_LIMITS = ["-fconstexpr-ops-limit=4000000000", "-fconstexpr-loop-limit=100000000"]
CLANG_LIMITS = ["-fconstexpr-steps=2000000000"]


def has_module(python, name):
    """Whether an interpreter finds a module."""
    code = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({name!r}) is None)"
    return subprocess.run([str(python), "-c", code], check=False).returncode == 0


class Cost:
    """Of one process and its children."""

    def __init__(self, seconds, user, peak_mb, output):
        self.seconds = seconds  # of the clock
        self.user = user  # of the processors
        self.peak_mb = peak_mb  # of the largest process
        self.output = output


def run(command):
    """The command's cost. Ends the script, with the first lines of its output, if it fails."""
    with tempfile.TemporaryFile("w+") as output:
        start = time.monotonic()
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read()
    if process.returncode != 0:
        lines = "\n".join(text.splitlines()[:40])
        sys.exit(f"{shlex.join(command)}\nended with {process.returncode}\n{lines}")
    return Cost(seconds, usage.ru_utime, usage.ru_maxrss / 1024, text)


class Compiler:
    """A compiler by its command: g++, clang++-19, nvcc."""

    def __init__(self, command):
        self.command = command
        self.path = shutil.which(command)
        if self.path is None:
            sys.exit(f"no compiler {command}")
        version = subprocess.run(
            [command, "--version"], capture_output=True, text=True, check=True).stdout
        self.kind = "nvcc" if "nvcc" in version else "clang" if "clang" in version else "gnu"
        self.version = re.search(r"(?:release|version) ([\d.]+)|(\d+\.\d+\.\d+)", version).group(0)

    def flags(self):
        """What typeflow::typeflow asks for."""
        common = ["-std=c++20", f"-I{ROOT / 'include'}"]
        if self.kind == "gnu":
            return common + ["-ffp-contract=off", *GNU_LIMITS]
        if self.kind == "clang":
            return common + ["-ffp-contract=off", *CLANG_LIMITS]
        host = ",".join(["-ffp-contract=off", *GNU_LIMITS])
        return common + ["-x", "cu", "--fmad=false", f"-Xcompiler={host}",
                         "-Xcudafe", "--max_cost_constexpr_call=2000000000"]

    def compile(self, source, result, extra=()):
        """Compiles to an object file."""
        return run([self.command, *self.flags(), *extra, "-c", str(source), "-o", str(result)])

    def link(self, objects, result, libraries):
        run([self.command, *map(str, objects), "-o", str(result),
             *(f"-l{name}" for name in libraries)])

    def preprocessed_lines(self, source):
        return run([self.command, *self.flags(), "-E", str(source)]).output.count("\n")


def add_compiler_argument(parser, default):
    parser.add_argument("--compiler", nargs="+", default=default, metavar="COMMAND",
                        help=f"compilers, by command (default: {' '.join(default)})")
