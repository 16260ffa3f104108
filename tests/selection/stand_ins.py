"""Drawn tables of the shape of P3's real data, which cannot be shipped: tables 7 and 8."""

import numpy as np
import pandas as pd


def boys() -> pd.DataFrame:
    """66 boys: BMI18 = WT18 / (HT18 / 100)^2 among 10 measurements; body and height are drawn."""
    rng = np.random.default_rng(2)
    build, height = rng.standard_normal((2, 66))
    frame = pd.DataFrame({"HT18": 179 + 6.5 * height, "WT18": 69 + 9 * (0.8 * build + 0.5 * height)})
    for name, mean, size in (("WT2", 14, 1.4), ("HT2", 88, 3), ("WT9", 32, 5), ("HT9", 136, 6), ("LG9", 27, 2)):
        frame[name] = mean + size * (0.6 * (height if name.startswith("HT") else build) + 0.8 * rng.standard_normal(66))
    frame["ST9"], frame["ST18"] = rng.normal(60, 9, 66), rng.normal(200, 30, 66)
    frame["LG18"] = 37 + 2 * (0.9 * build + 0.4 * rng.standard_normal(66))
    frame["BMI18"] = frame.WT18 / (frame.HT18 / 100) ** 2
    return frame


def phones(rows: int) -> pd.DataFrame:
    """681 columns as P3's pre-processing makes them, and LONGITUDE, which building and floor decide."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({f"WAP{i:03}": np.where(rng.random(rows) < 0.97, 100, -80) for i in range(1, 521)})
    frame["LONGITUDE"] = 0.0
    sizes = {"FLOOR": 5, "BUILDINGID": 3, "SPACEID": 123, "RELATIVEPOSITION": 2, "USERID": 18, "PHONEID": 16}
    for name, size in sizes.items():
        frame[name] = rng.integers(0, size, rows)
        frame.loc[: size - 1, name] = np.arange(size)  # every category is there
    frame["LONGITUDE"] = -7500 + 90.0 * frame["BUILDINGID"] + 4 * frame["FLOOR"] + rng.normal(0, 5, rows)
    return pd.get_dummies(frame, columns=list(sizes), drop_first=True, dtype=float)
