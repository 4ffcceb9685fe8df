"""Make `counts.csv`: a prey and its predator, after A. Lotka and V. Volterra.

    d prey / d t = 0.9 * prey - 0.4 * prey * predators
    d predators / d t = 0.25 * prey * predators - 0.7 * predators

in densities per hectare and years, integrated with the classical fourth-order Runge-Kutta method and counted
ten times a year with a relative error. The seed is fixed, so the data are the same each time.
Usage: `python generate.py [--noise SHARE] [--output FILE]`
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

HERE = Path(__file__).resolve().parent
START = (4.0, 1.2)  # prey and predators per hectare
DURATION_A = 30.0
STEP_A = 0.005
STEPS_PER_SAMPLE = 20
NOISE = 0.002  # of each value
SEED = 21

Array = NDArray[np.float64]


def rate(state: Array) -> Array:
    """Return the change of both densities in 1 per year."""
    prey, predators = state
    return np.array([0.9 * prey - 0.4 * prey * predators, 0.25 * prey * predators - 0.7 * predators])


def integrate() -> tuple[Array, Array]:
    """Return sample times [time] and densities [time, species]."""
    samples = round(DURATION_A / STEP_A) // STEPS_PER_SAMPLE + 1
    states = np.empty((samples, 2))
    states[0] = x = np.array(START)
    for sample in range(1, samples):
        for _ in range(STEPS_PER_SAMPLE):
            k1 = rate(x)
            k2 = rate(x + STEP_A / 2 * k1)
            k3 = rate(x + STEP_A / 2 * k2)
            k4 = rate(x + STEP_A * k3)
            x = x + STEP_A / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        states[sample] = x
    return np.arange(samples) * (STEP_A * STEPS_PER_SAMPLE), states


def generate(output: Path, *, noise: float = NOISE) -> Path:
    """Simulate and write; `noise` is the relative standard deviation of the measured densities."""
    times, states = integrate()
    states = states * (1 + noise * np.random.default_rng(SEED).standard_normal(states.shape))
    with output.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["t", "prey", "predators"])
        for time, (prey, predators) in zip(times, states, strict=True):
            writer.writerow([f"{time:.1f}", f"{prey:.6f}", f"{predators:.6f}"])
    return output


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--noise", type=float, default=NOISE, help="relative error of the densities")
    parser.add_argument("--output", type=Path, default=HERE / "counts.csv")
    options = parser.parse_args()
    print(generate(options.output, noise=options.noise))


if __name__ == "__main__":
    main()
