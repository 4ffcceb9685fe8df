"""Systems whose data are a table: measurements that do not follow each other in time, or one trajectory."""

from __future__ import annotations

import numpy as np

from sr_harness.bench.synthetic.model import Floats, Sample, System, integrate
from sr_harness.core import Axis, Variable

GRAVITY = 9.81
GAS_CONSTANT = 8.314


def _pendulum(rows: int, rng: np.random.Generator) -> Sample:
    """A pendulum that is slowed by its bearing and, at speed, by the air."""
    length, bearing, air = 0.8, 0.12, 0.05
    step = 0.04

    def slope(state: Floats) -> Floats:
        angle, speed = state
        return np.array(
            [speed, -GRAVITY / length * np.sin(angle) - bearing * speed - air * speed * abs(speed)]
        )

    states = integrate(slope, np.array([rng.uniform(1.8, 2.6), 0.0]), step, rows)
    speed = states[:, 1]
    acceleration = np.array([slope(state)[1] for state in states])
    return Sample(
        variables={
            "angle": Variable(states[:, 0], "Deflection from the lowest position in radians.", ["time"]),
            "speed": Variable(speed, "Angular velocity in radians per second.", ["time"]),
            "acceleration": Variable(acceleration, "Angular acceleration in radians per second².", ["time"]),
        },
        axes={"time": Axis("Time since release in seconds.", values=np.round(step * np.arange(rows), 10))},
        formula=f"-{GRAVITY / length!r}*sin(angle) - {bearing}*speed - {air}*speed*abs(speed)",
        constants={"g/L": GRAVITY / length, "bearing": bearing, "air": air},
    )


def _competition(rows: int, rng: np.random.Generator) -> Sample:
    """Two species on one resource, the second of which inhibits the first up to a limit."""
    growth, capacity, inhibition, half = 0.9, 120.0, 0.7, 35.0
    first, second = rng.uniform(2, 140, rows), rng.uniform(0, 90, rows)
    rate = growth * first * (1 - first / capacity) - inhibition * first * second / (half + second)
    return Sample(
        variables={
            "reeds": Variable(first, "Shoots of the first species per square metre.", ["plot"]),
            "sedges": Variable(second, "Shoots of the second species per square metre.", ["plot"]),
            "change": Variable(rate, "Net change of the first species in shoots per m² and year.", ["plot"]),
        },
        axes={"plot": Axis("Plot in a wet meadow.", size=rows)},
        formula=f"{growth}*reeds*(1 - reeds/{capacity}) - {inhibition}*reeds*sedges/({half} + sedges)",
        constants={"growth": growth, "capacity": capacity, "inhibition": inhibition, "half": half},
    )


def _reaction(rows: int, rng: np.random.Generator) -> Sample:
    """The rate of a catalysed reaction: it speeds up with heat and saturates with concentration."""
    factor, activation, saturation = 5.2e6, 48_000.0, 0.35
    temperature, concentration = rng.uniform(290, 420, rows), rng.uniform(0.02, 2.0, rows)
    heat = np.exp(-activation / (GAS_CONSTANT * temperature))
    rate = factor * heat * concentration / (saturation + concentration)
    return Sample(
        variables={
            "temperature": Variable(temperature, "Temperature of the bath in kelvin.", ["run"]),
            "concentration": Variable(concentration, "Concentration of the substrate in mol per L.", ["run"]),
            "rate": Variable(rate, "Initial rate of the reaction in mol per L and second.", ["run"]),
        },
        axes={"run": Axis("Run of the reactor.", size=rows)},
        formula=(
            f"{factor}*exp(-{activation / GAS_CONSTANT!r}/temperature)"
            f"*concentration/({saturation} + concentration)"
        ),
        constants={"factor": factor, "activation": activation, "saturation": saturation},
    )


def _projectile(rows: int, rng: np.random.Generator) -> Sample:
    """The fall of a ball thrown into a wind, with the drag of a fast body."""
    drag, wind = 0.018, 3.0
    across, up = rng.uniform(-15, 40, rows), rng.uniform(-25, 25, rows)
    acceleration = -GRAVITY - drag * up * np.sqrt((across - wind) ** 2 + up**2)
    return Sample(
        variables={
            "across": Variable(across, "Horizontal velocity over ground in metres per second.", ["shot"]),
            "up": Variable(up, "Vertical velocity in metres per second, upwards positive.", ["shot"]),
            "pull": Variable(acceleration, "Vertical acceleration in m/s², upwards positive.", ["shot"]),
        },
        axes={"shot": Axis("Frame of the camera.", size=rows)},
        formula=f"-{GRAVITY} - {drag}*up*sqrt((across - {wind})**2 + up**2)",
        constants={"g": GRAVITY, "drag": drag, "wind": wind},
    )


TABLES = (
    System("pendulum", "a pendulum slowed by its bearing and by the air", "acceleration", 300, _pendulum),
    System("competition", "two plant species that share a resource", "change", 400, _competition),
    System("reaction", "a catalysed reaction at different temperatures", "rate", 400, _reaction),
    System("projectile", "the vertical acceleration of a ball in a steady wind", "pull", 400, _projectile),
)
