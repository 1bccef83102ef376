"""Adam finds mass, damping and stiffness of an oscillator from noisy positions, through the integration of its motion.

A known force drives it: mass x'' + damping x' + stiffness x = 2 sin(1.3 t). Two hundred steps of Runge and Kutta lead
from the parameters to the positions, and the gradient leads back through all of them. The steps are a plain Python
loop; compiled, they are one graph of thousands of operations, and its backward another. 32 guesses are improved side by
side, since some end in a wrong minimum; second derivatives at the best one say how sure it is.
"""

import itertools
import math

import numpy as np
from measure import begin, check, check_reached, first_call, print_times, race
from scipy.integrate import solve_ivp
from training import BLUE, GREY, INK, ORANGE, axes_of, losses_of, save, sheet

import minidynamo as torch

TRUE = {"mass": 0.8, "damping": 0.25, "stiffness": 6.0, "position": 1.2, "velocity": -0.7}  # the last two at the start
SECONDS, NOISE = 10.0, 0.05
TOLERANCE = 0.05  # of mass, damping and stiffness, relative


def force(time):
    return 2 * np.sin(1.3 * time)


class Oscillator:
    """Positions at steps + 1 times; parameters: logarithms of mass, damping, stiffness; first position and velocity."""

    def __init__(self, steps):
        self.steps, self.step = steps, SECONDS / steps
        self.times = np.linspace(0, SECONDS, steps + 1)
        self.forces = force(np.linspace(0, SECONDS, 2 * steps + 1)).tolist()  # the method also looks halfway

    def positions(self, parameters):
        """(steps + 1, ...) from (5, ...), by the classical method of Runge and Kutta of fourth order."""
        mass, damping, stiffness = parameters[:3].exp().unbind()
        x, v = parameters[3], parameters[4]
        h = self.step

        def slope(x, v, force):
            return v, (force - damping * v - stiffness * x) / mass

        path = [x]
        for n in range(self.steps):
            now, halfway, then = self.forces[2 * n : 2 * n + 3]
            v1, a1 = slope(x, v, now)
            v2, a2 = slope(x + h / 2 * v1, v + h / 2 * a1, halfway)
            v3, a3 = slope(x + h / 2 * v2, v + h / 2 * a2, halfway)
            v4, a4 = slope(x + h * v3, v + h * a3, then)
            x = x + h / 6 * (v1 + 2 * v2 + 2 * v3 + v4)
            v = v + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
            path.append(x)
        return torch.stack(path)


def positions_by_scipy(times):
    def slope(time, state):
        x, v = state
        return v, (force(time) - TRUE["damping"] * v - TRUE["stiffness"] * x) / TRUE["mass"]

    start = (TRUE["position"], TRUE["velocity"])
    return solve_ivp(slope, (0, SECONDS), start, t_eval=times, rtol=1e-9, atol=1e-9).y[0]


def as_parameters(values):
    return torch.tensor([math.log(v) if k < 3 else v for k, v in enumerate(values)])


class Fit:
    """Guesses around round numbers, and the Adam that improves each of them."""

    def __init__(self, oscillator, measured, guesses):
        self.oscillator, self.measured = oscillator, measured[:, None]
        generator = torch.Generator().manual_seed(1)
        start = as_parameters([1.0, 1.0, 5.0, 0.0, 0.0])[:, None].repeat(1, guesses)
        start[:3] += torch.randn(3, guesses, generator=generator)  # by a factor of e, up or down
        self.guesses = start.to(measured.device).requires_grad_()
        self.optimizer = torch.optim.Adam([self.guesses], lr=0.03)
        self.history = []

    def train_step(self):
        self.optimizer.zero_grad()
        errors = (self.oscillator.positions(self.guesses) - self.measured).square().mean(dim=0)
        errors.sum().backward()
        self.optimizer.step()
        return errors

    def improve(self, step, count, what):
        """Mean squared error of each guess before each of so many steps: (count, guesses)."""
        history = []

        def smallest():
            history.append(step().detach())
            return history[-1].min()

        losses_of(smallest, itertools.repeat(()), count, what)
        return torch.stack(history).numpy(force=True)


def standard_errors(oscillator, measured, parameters):
    """Of each parameter: roots of the diagonal of the inverse Hessian of the negative log likelihood."""

    def surprise(parameters):
        return (oscillator.positions(parameters) - measured).square().sum() / (2 * NOISE**2)

    hessian = torch.autograd.functional.hessian(surprise, parameters)
    return np.sqrt(np.diag(np.linalg.inv(hessian.double().numpy(force=True))))


def report(best, errors, options):
    """Prints what was found beside the truth, and checks it."""
    print(f"\n  {'':12}{'found':>10}{'error':>10}{'true':>10}")
    for k, (name, true) in enumerate(TRUE.items()):
        found = math.exp(best[k]) if k < 3 else best[k]
        error = errors[k] * found if k < 3 else errors[k]
        print(f"  {name:12}{found:10.3f}{'+- ' + format(error, '.3f'):>10}{true:10.3f}")
        check_reached(f"{name}, in standard errors", abs(found - true) / error, most=4, options=options)
        if k < 3:
            check_reached(f"relative error of the {name}", abs(found / true - 1), most=TOLERANCE, options=options)
    if not options.tiny:
        print(f"Checked: all within four standard errors, the first three within {TOLERANCE:.0%}.")


def draw(oscillator, measured, fit, first, history, options):
    best = int(history[-1].argmin())
    with torch.no_grad():
        guess, found = (oscillator.positions(p[:, best]).numpy(force=True) for p in (first, fit.guesses))
    figure = sheet(11, 4)
    left, right = figure.add_gridspec(1, 2, width_ratios=(3, 2))
    axes = axes_of(figure, left, "Motion", "seconds", "position")
    axes.plot(oscillator.times, measured.cpu(), ".", color=GREY, label="measured")
    axes.plot(oscillator.times, guess, ":", color=ORANGE, label="first guess")
    axes.plot(oscillator.times, positions_by_scipy(oscillator.times), color=INK, linewidth=3, alpha=0.3, label="true")
    axes.plot(oscillator.times, found, color=BLUE, label="found")
    axes.legend(frameon=False, ncols=2)
    axes = axes_of(figure, right, f"{history.shape[1]} guesses", "step of Adam", "mean squared error")
    axes.semilogy(history, color=GREY, linewidth=0.7)
    axes.semilogy(history[:, best], color=BLUE, label="the best")
    axes.axhline(NOISE**2, color=INK, linestyle=":", label="noise of the measurements")
    axes.legend(frameon=False)
    save(figure, "oscillator.png", options)


def main():
    options = begin(__doc__)
    steps, guesses, count, compared = (60, 8, 150, 3) if options.quick else (200, 32, 600, 20)
    if options.tiny:
        steps, guesses, count, compared = 20, 2, 3, 2
    oscillator = Oscillator(steps)
    exact = oscillator.positions(as_parameters(TRUE.values()))
    allowed = 20 * oscillator.step**4  # the method is of fourth order
    check("the motion against SciPy", exact, positions_by_scipy(oscillator.times), 0, allowed)
    noise = NOISE * torch.randn(steps + 1, generator=torch.Generator().manual_seed(7))
    measured = (exact + noise).to(options.device)

    fit, plain = Fit(oscillator, measured, guesses), Fit(oscillator, measured, guesses)
    first = fit.guesses.detach().clone()
    compiled_step = torch.compile(fit.train_step, mode="reduce-overhead")  # the first call waits for machine code
    errors, seconds = first_call(lambda: fit.improve(compiled_step, 1, "first step"), options.device)
    print(f"{steps} steps of Runge and Kutta, forward and backward, were compiled in {seconds:.1f} s.")
    history = np.concatenate([errors, fit.improve(compiled_step, count - 1, "compiled")])
    expected = plain.improve(plain.train_step, compared, "plain")
    check("the errors of all guesses", history[:compared], expected, relative=0, absolute=0)
    print("Checked: the motion is SciPy's; the first errors of all guesses are those of plain execution, to the bit.")

    best = fit.guesses.detach()[:, int(history[-1].argmin())]
    report(best.tolist(), standard_errors(oscillator, measured, best), options)
    draw(oscillator, measured, fit, first, history, options)
    print(f"\nOne step, {guesses} guesses:")
    contestants = [("compiled", compiled_step), ("plain (uncompiled)", plain.train_step)]
    print_times(race(contestants, 3 if options.quick else 10, options.device))


if __name__ == "__main__":
    main()
