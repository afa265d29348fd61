"""Curves by matplotlib, in the colours of the pages that the programs write with --report."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

# Those of platforms/report/page.js, which a test holds against these.
COLOURS = ("#1f77b4", "#e6700a", "#2ca02c", "#d62728", "#9467bd", "#a0695c", "#d65fb2", "#808080", "#a8a000", "#17a2b8")


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt
    return plt.subplots(figsize=(7, 4))[1]


def _finish(ax: Any, x: str, y: str, logarithmic: bool) -> Any:
    ax.set_xlabel(x.replace("_", " "))
    ax.set_ylabel(y)
    if logarithmic:
        ax.set_xscale("log", base=2)
        ax.set_yscale("log")
    ax.grid(True, color="#d4d8dd")
    ax.set_axisbelow(True)
    if ax.get_legend_handles_labels()[1]:
        ax.legend(fontsize="small")
    return ax


def curves(frame: pd.DataFrame, x: str, by: Sequence[str], ax: Any = None) -> Any:
    """time_us over `x`, a curve for each combination of those of `by` that differ. Bars where `x` has no numbers."""
    ax = _axes(ax)
    frame = frame.dropna(subset=["time_us"])
    told = [name for name in by if name != x and frame[name].nunique() > 1]
    groups = frame.groupby(told if len(told) > 1 else told[0], sort=False) if told else [("", frame)]
    numbers = pd.api.types.is_numeric_dtype(frame[x])
    for number, (key, group) in enumerate(groups):
        colour = COLOURS[number % len(COLOURS)]
        label = ", ".join(map(str, key if isinstance(key, tuple) else (key,))) or None
        if numbers:
            ax.plot(group[x], group["time_us"], "o-", markersize=3, color=colour, label=label)
        else:
            many = len(groups)
            places = [list(dict.fromkeys(frame[x])).index(each) + number / (many + 1) for each in group[x]]
            ax.bar(places, group["time_us"], 1 / (many + 1), color=colour, label=label)
    if not numbers:
        names = list(dict.fromkeys(frame[x]))
        ax.set_xticks(range(len(names)), names)
    return _finish(ax, x, "time, us", bool(numbers) and x == "bytes")


def comparison(frame: pd.DataFrame, ax: Any = None) -> Any:
    """Measured solid and simulated dashed, in one colour for each pair."""
    ax = _axes(ax)
    x = "bytes" if "bytes" in frame.columns else "line"
    frame = frame.assign(line=range(len(frame)))
    for number, (label, group) in enumerate(frame.groupby("label", sort=False)):
        colour = COLOURS[number % len(COLOURS)]
        ax.plot(group[x], group["measured_us"], "-", color=colour, label=f"{label}, measured")
        ax.plot(group[x], group["simulated_us"], "--", color=colour, label=f"{label}, simulated")
    return _finish(ax, x, "time, us", x == "bytes")
