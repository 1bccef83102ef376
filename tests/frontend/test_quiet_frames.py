"""Skipped frames below which nothing is compiled: they run without the hook, and are looked at again now and then."""

import minidynamo as torch
from minidynamo._dynamo.testing import CompileCounter

QUIET_VISITS = 16
LOOK_AGAIN = 64
unrelated = 0


def doubled(x):
    return x * 2


def named(number):
    return str(number)


def skipped(f, x):
    torch._dynamo.skip_frame()
    return f(x)


def visitor():
    """The compiled function that visits `skipped`, and what counts its graphs."""
    torch._dynamo.reset()
    counter = CompileCounter()
    return torch.compile(lambda f, x: skipped(f, x), backend=counter), counter


def visits_until_compiled(visit, counter):
    before = counter.frame_count
    for number in range(1, 4 * LOOK_AGAIN):
        assert visit(doubled, torch.ones(2)).tolist() == [2, 2]
        if counter.frame_count > before:
            return number
    return None


def test_callees_are_compiled_from_the_first_visit_on():
    visit, counter = visitor()
    assert visits_until_compiled(visit, counter) == 1


def test_a_frame_without_eligible_callees_is_looked_at_again():
    visit, counter = visitor()
    for _ in range(QUIET_VISITS - 1):
        assert visit(named, 7) == "7"
    assert visits_until_compiled(visit, counter) == 1
    visit, counter = visitor()
    for _ in range(QUIET_VISITS + 5):
        assert visit(named, 7) == "7"
    assert 1 < visits_until_compiled(visit, counter) <= LOOK_AGAIN
    # It is not quiet any more: what is called next is compiled at once.
    assert visit(lambda x: x + 1, torch.ones(2)).tolist() == [2, 2]
    assert counter.frame_count == 2


def test_changed_globals_and_reset_end_the_quiet():
    global unrelated
    for wake in (lambda: globals().__setitem__("unrelated", unrelated + 1), torch._dynamo.reset):
        visit, counter = visitor()
        for _ in range(QUIET_VISITS + 5):
            visit(named, 7)
        wake()
        assert visits_until_compiled(visit, counter) == 1


def test_exceptions_and_recursion_in_quiet_frames():
    def fails(x):
        raise KeyError(x)

    def deep(x):
        return visit(deep, x - 1) if x else "end"

    visit, _ = visitor()
    for _ in range(3 * QUIET_VISITS):
        try:
            visit(fails, 1)
        except KeyError as error:
            assert error.args == (1,)
        else:
            raise AssertionError("no exception")
    assert visit(deep, 60) == "end"
