"""Refuses to be imported in a subinterpreter, where native code that keeps objects of the main interpreter would wait
for its lock for ever. Nothing native is loaded before this is decided."""


def _is_main():
    for name in ("_interpreters", "_xxsubinterpreters"):  # 3.13, before
        try:
            module = __import__(name)
        except ImportError:
            continue
        return module.get_current() == module.get_main()
    return True


if not _is_main():
    raise ImportError("minidynamo works in the main interpreter only: it cannot be imported in a subinterpreter")
