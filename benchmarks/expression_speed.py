"""How fast formulas are evaluated and fitted, beside hand-written NumPy.

    python benchmarks/expression_speed.py [--rows 1000000] [--repeat 7]

Prints, per formula, the best of several times for NumPy, for `evaluate` and their ratio (below 1 is faster
than NumPy), then edge sums beside `np.add.at` and `np.bincount`, then a few fits.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sr_harness.engine import Structure, evaluate, fit, parse

FORMULAS: dict[str, Callable[..., np.ndarray]] = {
    "x + y": lambda x, y, z: x + y,
    "x*y + z": lambda x, y, z: x * y + z,
    "x**2 + y**2 - 2*x*y": lambda x, y, z: x**2 + y**2 - 2 * x * y,
    "x*y/(z**2 + 1)": lambda x, y, z: x * y / (z**2 + 1),
    "exp(-x**2/2)/sqrt(2*pi)": lambda x, y, z: np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi),
    "sin(x)*cos(y) + sin(x)**2": lambda x, y, z: np.sin(x) * np.cos(y) + np.sin(x) ** 2,
    "sqrt(x**2 + y**2 + z**2)": lambda x, y, z: np.sqrt(x**2 + y**2 + z**2),
    "x**3 + 2*x**2 + x + 1": lambda x, y, z: x**3 + 2 * x**2 + x + 1,
    "x**1.7*y": lambda x, y, z: x**1.7 * y,
    "1/(1 + exp(-x)) + tanh(y)*log(z)": lambda x, y, z: 1 / (1 + np.exp(-x)) + np.tanh(y) * np.log(z),
    "(x - y)/(x + y) + (x - y)**2/(x + y)**2": lambda x, y, z: (
        (x - y) / (x + y) + (x - y) ** 2 / (x + y) ** 2
    ),
}


class Times(NamedTuple):
    """The shortest of several times, in seconds."""

    theirs: float
    ours: float

    @property
    def ratio(self) -> float:
        """Ours over theirs."""
        return self.ours / self.theirs


def compared(theirs: Callable[[], object], ours: Callable[[], object], repeat: int) -> Times:
    """Both in turn, so that a busy machine treats them alike."""
    times: list[tuple[float, float]] = []
    for _ in range(repeat):
        start = time.perf_counter()
        theirs()
        middle = time.perf_counter()
        ours()
        times.append((middle - start, time.perf_counter() - middle))
    return Times(min(t for t, _ in times), min(o for _, o in times))


def tables(rows: int, repeat: int) -> None:
    rng = np.random.default_rng(0)
    data = {name: rng.uniform(0.5, 3.0, rows) for name in "xyz"}
    print(f"{rows} rows{'':36} NumPy ms   ours ms   ratio")
    ratios = []
    for text, by_hand in FORMULAS.items():
        formula = parse(text)
        np.testing.assert_allclose(evaluate(formula, data), by_hand(**data), rtol=1e-12)
        best = compared(lambda: by_hand(**data), lambda: evaluate(formula, data), repeat)  # noqa: B023
        ratios.append(best.ratio)
        print(f"  {text:44} {1e3 * best.theirs:8.2f}  {1e3 * best.ours:8.2f}  {best.ratio:6.2f}")
    print(f"  median ratio {np.median(ratios):.2f}, worst {max(ratios):.2f}")


def graphs(repeat: int) -> None:
    rng = np.random.default_rng(1)
    formula = parse("sum[j](A[i,j], sin(x[j] - x[i]))")
    print(f"{'edge sums':46} NumPy ms   ours ms   ratio")
    for times, nodes, edges in ((1, 10_000, 1_000_000), (200, 500, 5_000), (2_000, 50, 400)):
        rows = rng.integers(0, nodes, (edges, 2))
        x = rng.normal(size=(times, nodes))
        structure = Structure({"x": ("time", "node")}, {}, ("A",), nodes, "node")

        def by_hand(x=x, rows=rows) -> np.ndarray:
            total = np.zeros_like(x)
            np.add.at(total, (slice(None), rows[:, 0]), np.sin(x[:, rows[:, 1]] - x[:, rows[:, 0]]))
            return total

        def by_bincount(x=x, rows=rows, nodes=nodes) -> np.ndarray:
            values = np.sin(x[:, rows[:, 1]] - x[:, rows[:, 0]])
            return np.array([np.bincount(rows[:, 0], weights=v, minlength=nodes) for v in values])

        data = {"x": x, "A": rows}
        np.testing.assert_allclose(evaluate(formula, data, structure=structure), by_hand(), atol=1e-9)
        label = f"{times} times, {nodes} nodes, {edges} edges"
        for name, reference in (("np.add.at", by_hand), ("np.bincount", by_bincount)):
            best = compared(
                reference,
                lambda: evaluate(formula, data, structure=structure),  # noqa: B023
                max(2, repeat // 2),
            )
            row = f"{label}, {name}"
            print(f"  {row:44} {1e3 * best.theirs:8.2f}  {1e3 * best.ours:8.2f}  {best.ratio:6.2f}")


def fits() -> None:
    rng = np.random.default_rng(2)
    print(f"{'fits':46} seconds   1 - R²")
    cases = [
        ("param('a')*x + param('b')", "3e8*x + 2", 1_000_000),
        ("param('a')*exp(param('b')*x)", "100*exp(-0.3*x)", 500),
        ("param('a')*exp(param('b')*x)", "100*exp(-0.3*x)", 1_000_000),
        ("param('a')*sin(param('b')*x)", "sin(7*x)", 500),
        ("param('a')*sin(param('b')*x + param('c')) + param('d')", "2*sin(7*x + 0.4) - 3", 500),
    ]
    for text, truth, rows in cases:
        data = {"x": rng.uniform(0.0, 10.0, rows)}
        target = evaluate(parse(truth), data)
        start = time.perf_counter()
        result = fit(parse(text), data, target)
        label = f"{text.replace('param', '')} ({rows})"
        print(f"  {label:44} {time.perf_counter() - start:7.3f}   {1 - result.r2:.1e}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=7)
    arguments = parser.parse_args()
    tables(arguments.rows, arguments.repeat)
    graphs(arguments.repeat)
    fits()


if __name__ == "__main__":
    main()
