"""A line search for LBFGS: step lengths that satisfy the strong Wolfe conditions.

The bracketing, the zoom and the cubic interpolation are those of Nocedal and Wright, "Numerical Optimization", 2006,
algorithms 3.5 and 3.6 and equation 3.59, with the safeguards of minFunc (Schmidt, 2005).
"""

from collections import namedtuple

_DECREASE, _CURVATURE = 1e-4, 0.9  # c1 and c2 of the Wolfe conditions

_Point = namedtuple("_Point", "step value grad slope")  # slope: the derivative by the step


def _cubic_minimum(first, second, bounds=None):
    """Where the cubic through both points with their slopes is smallest, within the bounds; their middle if nowhere."""
    left, right = (first, second) if first.step <= second.step else (second, first)
    low, high = bounds or (left.step, right.step)
    mean = first.slope + second.slope - 3 * (first.value - second.value) / (first.step - second.step)
    radicand = mean**2 - first.slope * second.slope
    if not radicand >= 0:
        return (low + high) / 2.0
    root = radicand.sqrt()
    ratio = (right.slope + root - mean) / (right.slope - left.slope + 2 * root)
    return min(max(right.step - (right.step - left.step) * ratio, low), high)


class StrongWolfe:
    """Searches along one direction. `evaluate(step)` gives the loss, a float, and the gradient there, a flat tensor.

    `start` is the loss, the gradient and the slope at step 0, which is negative. `evaluations` counts calls.
    """

    def __init__(self, evaluate, direction, start, max_evaluations, tolerance=1e-9):
        self._evaluate = evaluate
        self._direction = direction
        self._start = _Point(0, *start)
        self._limit = max_evaluations
        self._tolerance = tolerance
        self._rounds = 0
        self.evaluations = 0

    def _at(self, step):
        value, grad = self._evaluate(step)
        self.evaluations += 1
        return _Point(step, value, grad, grad.dot(self._direction))

    def _too_high(self, point):
        return point.value > self._start.value + _DECREASE * point.step * self._start.slope

    def _flat_enough(self, point):
        return abs(point.slope) <= -_CURVATURE * self._start.slope

    def search(self, step):
        """(loss, gradient, step length) of the best point; `step` is tried first."""
        bracket = self._bracket(step)
        best = self._zoom(bracket) if len(bracket) == 2 else bracket[0]
        return best.value, best.grad, best.step

    def _bracket(self, step):
        """Two points around a good one, or one that is good."""
        before, point = self._start, self._at(step)
        while self._rounds < self._limit:
            if self._too_high(point) or (self._rounds > 1 and point.value >= before.value):
                return [before, point]
            if self._flat_enough(point):
                return [point]
            if point.slope >= 0:
                return [before, point]
            bounds = point.step + 0.01 * (point.step - before.step), point.step * 10
            before, point = point, self._at(_cubic_minimum(before, point, bounds))
            self._rounds += 1
        return [self._start, point]

    def _zoom(self, bracket):
        """Makes the bracket smaller until its lower end is good, which it gives."""
        longest = self._direction.abs().max()
        low, high = (0, 1) if bracket[0].value <= bracket[1].value else (1, 0)
        stalled = False
        while self._rounds < self._limit:
            if abs(bracket[1].step - bracket[0].step) * longest < self._tolerance:
                break
            step, stalled = self._trial(bracket, stalled)
            point = self._at(step)
            self._rounds += 1
            if self._too_high(point) or point.value >= bracket[low].value:
                bracket[high] = point
                low, high = (0, 1) if bracket[0].value <= bracket[1].value else (1, 0)
                continue
            done = self._flat_enough(point)
            if not done and point.slope * (bracket[high].step - bracket[low].step) >= 0:
                bracket[high] = bracket[low]
            bracket[low] = point
            if done:
                break
        return bracket[low]

    @staticmethod
    def _trial(bracket, stalled):
        """The next step length. Close to an end for the second time in a row, it is moved a tenth into the bracket."""
        step = _cubic_minimum(*bracket)
        lowest, highest = sorted(point.step for point in bracket)
        margin = 0.1 * (highest - lowest)
        if min(highest - step, step - lowest) >= margin:
            return step, False
        if not (stalled or step >= highest or step <= lowest):
            return step, True
        return (highest - margin if abs(step - highest) < abs(step - lowest) else lowest + margin), False
