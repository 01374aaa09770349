# SPDX-License-Identifier: Apache-2.0

"""Cases with their times, and what their ratios say, for the script run."""

import dataclasses
import math


@dataclasses.dataclass
class Case:
    name: str
    ours: float  # milliseconds
    peers: dict  # milliseconds by the peer's name
    rate: float = math.nan  # of ours, GB/s
    share: float = math.nan  # of the rate of a copy that moves as much

    @property
    def peer(self):
        """Of the fastest; NaN if there is none."""
        return min(self.peers.values(), default=math.nan)

    @property
    def ratio(self):
        """How many times as fast as the fastest peer we are."""
        return self.peer / self.ours


def compared(cases):
    """Those that have a peer."""
    return [case for case in cases if not math.isnan(case.ratio)]


def geomean(cases):
    """Of the ratios; NaN without cases."""
    ratios = [case.ratio for case in compared(cases)]
    if not ratios:
        return math.nan
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def without_best(cases, count=3):
    """Without the cases that have the largest ratios."""
    return sorted(compared(cases), key=lambda case: case.ratio)[:-count or None]


def summary(name, cases):
    """A line about the ratios of a group, and its last line. Nothing if no case has a peer."""
    ordered = sorted(compared(cases), key=lambda case: case.ratio)
    if not ordered:
        return []
    slow = sum(case.ratio < 0.9 for case in ordered)
    text = f"{name}: {len(ordered)} cases, {slow} below 0.90"
    if len(ordered) > 3:
        text += f", without the three best {geomean(without_best(ordered)):.2f}"
    worst = ordered[0]
    return [f"{text}, worst {worst.name} {worst.ratio:.2f}",
            f"geomean ratio {geomean(ordered):.2f}"]


def fused(cases):
    """A line about what fusing saves; nothing unless a case has a twin NAME_in_two_passes."""
    ours = {case.name: case.ours for case in cases}
    saved = [ours[name + "_in_two_passes"] / ms for name, ms in ours.items()
             if name + "_in_two_passes" in ours]
    if not saved:
        return []
    mean = math.exp(sum(map(math.log, saved)) / len(saved))
    return [f"fused against product and pass: geomean {mean:.2f}"]


def table(cases):
    """The cases as a table of Markdown, with all peers, and with our rates and shares of a copy's if
    they are known."""
    peers = list(dict.fromkeys(peer for case in cases for peer in case.peers))
    columns = {head: values for head, values in (
        ("GB/s", [text(case.rate, ".1f") for case in cases]),
        ("of a copy", [text(case.share, ".2f") for case in cases])) if any(values)}

    def row(*cells):
        return "| " + " | ".join(cells) + " |"

    head = ["case", "ours ms", *(f"{peer} ms" for peer in peers), "ratio", *columns]
    lines = [row(*head), row(*["---"] * len(head))]
    for i, case in enumerate(cases):
        times = [milliseconds(case.peers[peer]) if peer in case.peers else "" for peer in peers]
        lines.append(row(case.name, milliseconds(case.ours), *times, text(case.ratio, ".2f"),
                         *(values[i] for values in columns.values())))
    return lines


def text(x, form):
    """Nothing for NaN."""
    return "" if math.isnan(x) else format(x, form)


def milliseconds(x):
    """With three significant digits or two decimals, whichever is more."""
    return f"{x:.2f}" if x >= 1 else f"{x:.3g}"
