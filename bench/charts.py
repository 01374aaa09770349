# SPDX-License-Identifier: Apache-2.0

"""Bar charts of ratios as SVG, for the script run."""

import html
import math

BAR, GAP, LABELS, PLOT, TOP, MARGIN = 14, 6, 220, 480, 56, 16
FASTER, SLOWER = "#2a7f62", "#c0562f"
TICKS = [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500]


def bar_chart(title, bars):
    """Horizontal bars of (name, ratio) from the line of ratio 1, on a logarithmic scale."""
    ratios = [ratio for _, ratio in bars]
    if not ratios or not all(ratio > 0 and math.isfinite(ratio) for ratio in ratios):
        raise ValueError(f"bar_chart({title}): expected ratios above 0, got {ratios}")
    low = max((t for t in TICKS if t <= min(*ratios, 0.5)), default=min(ratios))
    high = min((t for t in TICKS if t >= max(*ratios, 2)), default=max(ratios))
    width = LABELS + PLOT + 64
    bottom = TOP + len(bars) * (BAR + GAP)

    def x(ratio):
        return LABELS + PLOT * math.log(ratio / low) / math.log(high / low)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{bottom + MARGIN}" '
        f'viewBox="0 0 {width} {bottom + MARGIN}" font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{bottom + MARGIN}" fill="white"/>',
        f'<text x="{MARGIN}" y="22" font-size="15">{html.escape(title)}</text>',
    ]
    for tick in TICKS:
        if low <= tick <= high:
            parts.append(f'<line x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{TOP - 6}" '
                         f'y2="{bottom}" stroke="{"#444" if tick == 1 else "#ddd"}"/>')
            parts.append(f'<text x="{x(tick):.1f}" y="{TOP - 10}" text-anchor="middle">'
                         f'{tick:g}</text>')
    for i, (name, ratio) in enumerate(bars):
        y = TOP + i * (BAR + GAP)
        left, right = sorted((x(1), x(ratio)))
        parts.append(f'<text x="{LABELS - 8}" y="{y + BAR - 3}" text-anchor="end">'
                     f'{html.escape(name)}</text>')
        parts.append(f'<rect x="{left:.1f}" y="{y}" width="{right - left:.1f}" height="{BAR}" '
                     f'fill="{FASTER if ratio >= 1 else SLOWER}"/>')
        parts.append(f'<text x="{right + 4:.1f}" y="{y + BAR - 3}">{ratio:.2f}</text>')
    parts.append("</svg>")
    return "\n".join(parts) + "\n"
