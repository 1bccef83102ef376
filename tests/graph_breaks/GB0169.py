"""A method of a class made outside assigns a variable of the function around it."""

CODE = "GB0169"
import torch


def run(compile):
    count = 0

    class Counter:
        def counted(self):
            nonlocal count
            count += 1
            return count

    @compile
    def shifted(x):
        return x + Counter().counted()

    return shifted(torch.ones(2)), count


def fix(compile):
    class Counter:
        def counted(self, count):
            return count + 1

    @compile
    def shifted(x, count):
        count = Counter().counted(count)
        return x + count, count

    return shifted(torch.ones(2), 0)
