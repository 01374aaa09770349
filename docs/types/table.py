#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Prints docs/types.md: the public types with their headers, from the doc comments.

With --check FILE it compares instead, and fails if the file differs.
"""

import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
INCLUDE = ROOT / "include/typeflow"
TYPE = re.compile(r"^(?:class|struct|enum class)(?: alignas\([^)]*\))? (\w+)(?:<.*>)?(?: final)?"
                  r"(?: :[^:].*)? \{|^concept (\w+) =")


def exported():
    """Names of typeflow::exec that users see as tf::NAME."""
    text = (INCLUDE / "devices.hpp").read_text()
    return set(re.findall(r"using exec::(\w+);", text))


def first_sentence(lines):
    text = " ".join(line.removeprefix("///").strip() for line in lines)
    text = re.split(r"(?<=[.:])\s", text + " ", maxsplit=1)[0].rstrip(".: ")
    if len(text) > 140:
        text = text[:text.rindex(" ", 0, 140)] + " ..."
    return text.replace("|", "\\|")


def types_of(path, from_exec):
    """(name, sentence) of a header's public types."""
    namespaces, comment, found = [], [], []
    for line in path.read_text().splitlines():
        if match := re.match(r"namespace ([\w:]+(?: [\w:]+)*) \{$", line):
            parts = match[1].replace("inline TYPEFLOW_ISA", "").replace("::", " ").split()
            namespaces.append([part for part in parts if part not in ("typeflow", "inline")])
        elif line.startswith("}  // namespace"):
            namespaces.pop()
        elif line.startswith("///"):
            comment.append(line)
        elif match := TYPE.match(line):
            inside = "::".join(part for parts in namespaces for part in parts)
            name = match[1] or match[2]
            is_public = inside == "" or (inside == "exec" and name in from_exec)
            if namespaces and is_public and comment:
                found.append((name, first_sentence(comment)))
            comment = []
        elif not line.startswith(("template", "  requires", "          ")):
            comment = []
    return found


def table():
    from_exec = exported()
    rows = {}
    for path in sorted(INCLUDE.rglob("*.hpp")):
        for name, sentence in types_of(path, from_exec):
            rows.setdefault(name, (sentence, str(path.relative_to(INCLUDE))))
    lines = [
        "# Types", "",
        "The public types, all in the namespace `typeflow`, with the header that defines each. Most of them come with",
        "the header of their part, which [guide.md](guide.md) lists. `docs/types/table.py` makes this page from the doc",
        "comments; a test checks that it is up to date.", "",
        "| type | | header |", "| --- | --- | --- |"]
    for name, (sentence, header) in sorted(rows.items(), key=lambda row: row[0].lower()):
        lines.append(f"| `{name}` | {sentence} | `{header}` |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", metavar="FILE")
    arguments = parser.parse_args()
    if arguments.check is None:
        sys.stdout.write(table())
    elif pathlib.Path(arguments.check).read_text() != table():
        sys.exit(f"{arguments.check} is out of date: docs/types/table.py > docs/types.md")


if __name__ == "__main__":
    main()
