"""A book of options priced with the Black-Scholes formula: one graph, one fused loop over all options.

The function is what a NumPy user would write: value, delta and vega from some thirty operations, the normal
distribution by erf. Compiled, they become one loop that reads each input once and writes each result once;
uncompiled, every operation reads and writes whole arrays.
"""

import math

import numpy as np
from measure import begin, check, first_call, print_times, race

import minidynamo as torch

try:
    from scipy.special import erf as numpy_erf

    ERF_FROM = "erf of SciPy"
except ImportError:
    ERF_FROM = "own erf"

    def numpy_erf(x):
        """What one writes without SciPy: a rational approximation, good to 1.5e-7."""
        t = 1 / (1 + np.float32(0.3275911) * np.abs(x))
        series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
        return np.sign(x) * (1 - series * np.exp(-x * x))


ROOT_HALF = math.sqrt(0.5)


def price(spot, strike, years, rate, volatility):
    """Value of a call, and its sensitivities to spot (delta) and volatility (vega)."""
    root = torch.sqrt(years)
    d1 = (torch.log(spot / strike) + (rate + 0.5 * volatility * volatility) * years) / (volatility * root)
    d2 = d1 - volatility * root
    delta = 0.5 * (1.0 + torch.erf(d1 * ROOT_HALF))
    discounted = strike * torch.exp(-rate * years)
    call = spot * delta - discounted * (0.5 * (1.0 + torch.erf(d2 * ROOT_HALF)))
    vega = spot * root * torch.exp(-0.5 * d1 * d1) * (1.0 / math.sqrt(2.0 * math.pi))
    return call, delta, vega


def price_numpy(spot, strike, years, rate, volatility):
    root = np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + np.float32(0.5) * volatility * volatility) * years) / (volatility * root)
    d2 = d1 - volatility * root
    half, one = np.float32(0.5), np.float32(1)
    delta = half * (one + numpy_erf(d1 * np.float32(ROOT_HALF)))
    call = spot * delta - strike * np.exp(-rate * years) * half * (one + numpy_erf(d2 * np.float32(ROOT_HALF)))
    vega = spot * root * np.exp(-half * d1 * d1) * np.float32(1 / math.sqrt(2 * math.pi))
    return call, delta, vega


def price_one(spot, strike, years, rate, volatility):
    """One option in double precision, with Python's own math: the reference for the check."""
    root = math.sqrt(years)
    d1 = (math.log(spot / strike) + (rate + volatility**2 / 2) * years) / (volatility * root)
    delta = 0.5 * (1 + math.erf(d1 * ROOT_HALF))
    below = 0.5 * (1 + math.erf((d1 - volatility * root) * ROOT_HALF))
    return spot * delta - strike * math.exp(-rate * years) * below


def book(count):
    generator = np.random.default_rng(7)
    low_high = [(50, 150), (50, 150), (0.1, 3), (0.0, 0.06), (0.1, 0.6)]
    return [generator.uniform(low, high, count).astype(np.float32) for low, high in low_high]


def main():
    options = begin(__doc__)
    count = 10_000 if options.quick else 1_000_000
    arrays = book(count)
    tensors = [torch.from_numpy(a).to(options.device) for a in arrays]
    compiled = torch.compile(price, fullgraph=True)

    results, seconds = first_call(lambda: compiled(*tensors), options.device)
    print(f"{count:,} options; the first call, which traces and compiles, took {seconds * 1e3:.0f} ms.")
    print(f"Value of the book: {results[0].double().sum().item():,.2f}")

    checked = range(0, count, max(1, count // 2000))
    exact = [price_one(*(float(a[i]) for a in arrays)) for i in checked]
    check("against double precision", [results[0][i].item() for i in checked], exact, absolute=1e-3)
    for name, ours, plain, numpy in zip(("call", "delta", "vega"), results, price(*tensors), price_numpy(*arrays)):
        check(f"{name} against NumPy", ours, numpy, relative=1e-3, absolute=1e-3)
        check(f"{name} against plain execution", ours, plain, relative=0, absolute=0)
    print(f"Checked: equal to plain execution to the bit, to NumPy, and {len(checked)} options to double precision.\n")

    contestants = [
        ("compiled", lambda: compiled(*tensors)),
        ("plain (uncompiled)", lambda: price(*tensors)),
        (f"NumPy, {ERF_FROM}", lambda: price_numpy(*arrays)),
    ]
    print_times(race(contestants, 2 if options.quick else 9, options.device))


if __name__ == "__main__":
    main()
