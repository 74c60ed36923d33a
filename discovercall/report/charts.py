"""Mermaid charts that GitHub renders. Labels are made here, and tasks are numbered, so that no foreign text
gets into a diagram's grammar."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from discovercall.report.model import Lane, TaskSuccesses

MOST_BARS = 40


def gates_chart(lanes: Sequence[Lane], names: Mapping[str, str], records: int) -> list[str]:
    """How many trials are left after each gate, a row a lane."""
    lines = ["```mermaid", "flowchart LR"]
    for row, lane in enumerate(lanes):
        nodes = [("planned", records), *((gate.name, gate.left) for gate in lane.gates)]
        lines.append(f'  subgraph L{row}["{names[lane.lane]}"]')
        lines.append("    direction LR")
        lines += [f'    L{row}N{i}["{label}<br>{count}"]' for i, (label, count) in enumerate(nodes)]
        for i in range(1, len(nodes)):
            lost = nodes[i - 1][1] - nodes[i][1]
            lines.append(f"    L{row}N{i - 1} -->{f'|−{lost}|' if lost else ''} L{row}N{i}")
        lines.append("  end")
    return [*lines, "```"]


def tasks_chart(tasks: Sequence[TaskSuccesses], trials: int) -> list[str]:
    """Strict successes by numbered task: bars for the reference, a line for the configured model.

    Empty where a success is unknown or there are too many tasks to read.
    """
    pairs = [task.successes for task in tasks]
    if not pairs or len(pairs) > MOST_BARS or any(None in pair for pair in pairs):
        return []
    numbers = ", ".join(str(number) for number in range(1, len(pairs) + 1))
    return [
        "```mermaid",
        "xychart-beta",
        '  title "Strict successes by task: bars reference, line configured model"',
        f"  x-axis [{numbers}]",
        f'  y-axis "successes" 0 --> {trials}',
        f"  bar [{', '.join(str(pair[0]) for pair in pairs)}]",
        f"  line [{', '.join(str(pair[1]) for pair in pairs)}]",
        "```",
    ]
