"""Draws quality against epsilon from lines of JSON that noise.py has printed.

    python benchmarks/federated/figure.py docs/federated.svg benchmarks/federated/results.jsonl
"""

import json
import math
import sys
from pathlib import Path
from statistics import mean

COLOURS = ["#1b6ca8", "#c8553d"]
LEFT, RIGHT, TOP, BOTTOM = 60, 460, 30, 250


def main() -> None:
    target, source = sys.argv[1:]
    records = [json.loads(line) for line in Path(source).read_text().splitlines()]
    budgets = sorted({float(name) for record in records for name in record["scores"] if name[0].isdigit()})
    low, high = math.log(budgets[0]), math.log(budgets[-1])

    def x(epsilon: float) -> float:
        return LEFT + (RIGHT - LEFT) * (math.log(epsilon) - low) / (high - low)

    def y(score: float) -> float:
        return BOTTOM - (BOTTOM - TOP) * (score - 0.5) / 0.5

    parts = ['<rect width="620" height="300" fill="white"/><g font-family="sans-serif" font-size="12">']
    for score in (0.5, 0.6, 0.7, 0.8, 0.9, 1.0):
        parts.append(f'<path d="M{LEFT} {y(score):.1f}H{RIGHT}" stroke="#ddd"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y(score) + 4:.1f}" text-anchor="end">{score:.1f}</text>')
    for epsilon in budgets:
        parts.append(f'<text x="{x(epsilon):.1f}" y="{BOTTOM + 18}" text-anchor="middle">{epsilon:g}</text>')
    parts.append(f'<text x="{(LEFT + RIGHT) / 2}" y="{BOTTOM + 38}" text-anchor="middle">epsilon</text>')
    row = TOP
    for record, colour in zip(records, COLOURS):
        for what, dash in (("links", ""), ("accuracy", ' stroke-dasharray="5 4"')):
            value = {name: mean(one[what] for one in found) for name, found in record["scores"].items()}
            points = [(x(float(name)), y(score)) for name, score in value.items() if name[0].isdigit()]
            line = "L".join(f"{px:.1f} {py:.1f}" for px, py in sorted(points))
            parts.append(f'<path d="M{line}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>')
            level = y(value["no noise"])
            parts.append(f'<path d="M{RIGHT - 12} {level:.1f}H{RIGHT + 12}" stroke="{colour}" stroke-width="2"/>')
            name = f"{record['graph']}, {'link AUC' if what == 'links' else 'accuracy'}"
            parts.append(f'<path d="M{RIGHT + 22} {row}h22" stroke="{colour}" stroke-width="2"{dash}/>')
            parts.append(f'<text x="{RIGHT + 48}" y="{row + 4}" font-size="10">{name}</text>')
            row += 18
    parts.append(f'<text x="{RIGHT + 22}" y="{row + 6}" font-size="10">marks at the right: no noise</text></g>')
    body = "\n".join(parts)
    Path(target).write_text(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 620 300">\n{body}\n</svg>\n')


if __name__ == "__main__":
    main()
