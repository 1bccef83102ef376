"""Runs a split function as the frame driver does: first half, breaking instruction, the rest, one after the other."""

import types

from minidynamo._C import _bytecode

MARKER = object()


class Split:
    """`contexts`: (stack index, class, arguments) of library managers that are left before the break."""

    def __init__(self, function, point, contexts=()):
        self.index, self.name, self.nulls, self.bound, self.handler, self.offset = point
        self.function = function
        self.contexts = contexts

    def layout(self, index, nulls):
        return self.function.__code__, index, nulls, self.bound

    def call(self, part, stack, slots):
        """`stack` and `slots` map positions to values."""
        code, parameters = part
        values = []
        for kind, index in parameters:
            if kind == "stack":
                values.append(stack[index])
            elif kind == "slot":
                values.append(slots[index])
            else:
                values.append(slots[0].cell_contents if kind == "first" else None)
        return _bytecode.make_function(code, self.function.__globals__)(*values)

    def state(self, values):
        count = self.nulls.count(False)
        slots = iter(values[count:])
        bound = {k: next(slots) for k, is_bound in enumerate(self.bound) if is_bound}
        return place(values[:count], self.nulls), bound

    def resume_before(self, values):
        return self.call(_bytecode.resume_at(*self.layout(self.index, self.nulls)), *self.state(values))

    def run_instruction(self, values):
        parts = _bytecode.split(*self.layout(self.index, self.nulls), self.contexts)
        stack, slots = self.state(values)
        for k, cls, _ in reversed(self.contexts):
            stack[k](None, None, None)
            stack[k] = cls
        try:
            after = self.call(parts["break"], stack, slots)
        except BaseException as error:
            if self.handler[0] < 0:
                raise
            caught = error
        else:
            rest, nulls = parts["resume"], parts["resume_stack"]
            if parts["taken"]:
                jumped, *after = after
                if jumped:
                    rest, nulls = parts["taken"], parts["taken_stack"]
            return self.call(rest, place(after, nulls), slots)
        # Outside the except block: the handler finds the exception state of the user's frame.
        return self.resume_in_handler(caught, stack, slots)

    def resume_in_handler(self, caught, stack, slots):
        label, depth, lasti = self.handler
        items = [stack.get(k) for k in range(depth)] + ([self.offset // 2] if lasti else []) + [caught]
        nulls = self.nulls[:depth] + [False] * (len(items) - depth)
        return self.call(_bytecode.resume_at(*self.layout(label, nulls)), dict(enumerate(items)), slots)

    def driver(self, finish):
        """A function to use in place of the split one."""
        function = self.function
        code = _bytecode.stop_before(*self.layout(self.index, self.nulls), MARKER)
        arguments = function.__globals__, function.__name__, function.__defaults__, function.__closure__
        half = types.FunctionType(code, *arguments)
        half.__kwdefaults__ = function.__kwdefaults__

        def run(*args, **kwargs):
            result = half(*args, **kwargs)
            stopped = type(result) is tuple and result and result[0] is MARKER
            return finish(result[1:]) if stopped else result

        return run


def place(values, nulls):
    """Positions of the items that are not NULL → values."""
    items = iter(values)
    return {k: next(items) for k, null in enumerate(nulls) if not null}
