"""The leak lint: what it warns of, and above all what it leaves alone."""

from __future__ import annotations

import pytest

from sr_harness.core.leaks import find_leak, lint_descriptions

NAMES = ("x", "y", "t", "mass", "speed", "m", "node")

LEAKS = [
    "Target made by y = 1 + x**2.",
    "由 y = 1 + x**2 生成的目标",
    "由y=1+x**2生成的目标",
    "Response, y=a*exp(-k*t)",
    "y = sin(x)",
    "E = mc^2",
    "density = mass / volume",
    "Computed as f(x) = 3x + 2",
    "kinetic energy T = 0.5*m*v²",
    "T² = a³",
    "frequency, f = 1/T",
    "The target is sin(x) plus noise.",
    "Equal to x**2 up to a constant",
    "A*exp(-t/tau) sampled at random",
    "product of x and speed",
    "square root of mass",
    "x 的平方",
    "Signal with exponential decay",
    "exponentially decaying signal",
    "Population (exponential growth)",
    "Quadratic function of the input",
    "varies quadratically",
    "Concentration, decays exponentially with time",
    "Linear combination of the inputs",
    "follows a power law",
    "Follows an inverse-square law",
    "proportional to the load",
    "F ∝ x",
    "sinusoidal response",
    "A cubic polynomial in the input",
    "Rate from the Arrhenius equation",
    "Follows Kepler's third law",
    "指数衰减坐标",
    "服从幂律",
    "与质量成正比",
    "二次函数",
    "正弦波信号",
    "线性关系",
]

HARMLESS = [
    "",
    "Wind speed in m/s",
    "Wind speed in m/s**2",
    "Acceleration (m/s^2)",
    "Area in m^2 of the cross-section",
    "Radius (r = 0 at the axis)",
    "Time, t = 0 is the start of the experiment.",
    "1 atm = 101325 Pa",
    "1 knot = 1852/3600 m/s",
    "g = 9.81 m/s**2",
    "c = 3e8m/s",
    "unit = kg*m/s**2",
    "n = 100 samples",
    "p <= 0.05",
    "status: 0 = off, 1 = on/standby",
    "sex (f = female, m = male/unknown)",
    "id = row-number",
    "x-y plane, position along x",
    "Position x/y of the sensor",
    "Volume in cubic metres",
    "Linear velocity of the belt",
    "Linear accelerator beam current",
    "Exponential moving average of the load, window 7 d",
    "Root mean square of the signal",
    "Air pressure on a logarithmic scale",
    "log10(CFU/mL) of bacteria",
    "Gaussian noise was added by the sensor",
    "Parabolic antenna gain in dB",
    "Quadratic mean of the current",
    "Oscillator phase in radians.",
    "Directed graph endpoint pairs.",
    "Edge weight at each time.",
    "Annual gross domestic product in constant currency.",
    "Cosine similarity of two texts",
    "Temperature range -10 to +40 °C",
    "Mother-in-law indicator",
    'Column "temp (°C)" of weather.csv. Unit: °C.',
    "Chemical formula C6H12O6",
    "The law school of each judge",
    "空气质量指数",
    "风速，单位 m/s",
    "响应变量",
    "第二次测量的温度",
    "以对数坐标显示的压强",
    "股票指数收盘价",
    "时间（秒）",
]


@pytest.mark.parametrize("text", LEAKS)
def test_a_leak_is_found(text):
    assert find_leak(text, NAMES) is not None


@pytest.mark.parametrize("text", HARMLESS)
def test_an_ordinary_description_is_left_alone(text):
    assert find_leak(text, NAMES) is None


def test_the_message_names_the_entry_the_words_and_the_cure():
    (message,) = lint_descriptions({"y": "Target made by y = 1 + x**2.", "x": "Input."})
    assert "'y'" in message
    assert "'y = 1 + x**2'" in message
    assert "meaning, unit and origin" in message
