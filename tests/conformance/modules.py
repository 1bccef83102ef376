"""Which of CPython's test modules are run, and in which ways."""

# Of `make conformance`: the language and its builtins, then further modules. Those that the running Python does not
# have are left out.
LANGUAGE = [
    f"test_{name}"
    for name in """grammar builtin exceptions exception_group raise with contextlib generators genexps generator_stop
    coroutines asyncgen scope funcattrs functools itertools iter enumerate range slice list listcomps dict dictcomps
    dictviews ordered_dict defaultdict deque collections set setcomps tuple userdict userlist unpack unpack_ex extcall
    keywordonlyarg positional_only_arg call class descr super property dataclasses enum abc isinstance compare richcmp
    bool int float complex math operator augassign binop fstring format string patma named_expressions global
    sys_settrace monitoring traceback code dis compile inspect pickle copy copyreg weakref gc threading frame peepholer
    typing types""".split()
]
FURTHER = [
    f"test_{name}"
    for name in "ast bisect bytes except_star heapq importlib optparse random unittest yield_from".split()
]
ALL = LANGUAGE + FURTHER
# Of the test suite.
QUICK = [
    f"test_{name}"
    for name in """augassign binop bool class compare contextlib copyreg dictcomps dictviews enumerate extcall
    genexps global iter keywordonlyarg listcomps named_expressions property raise richcmp scope setcomps super
    unpack unpack_ex""".split()
]
# How a module is run: plainly, and compiled with config.trace_more off and on.
PLAIN, EVERYTHING, MORE = "plain", "everything", "trace_more"
COMPILED = (EVERYTHING, MORE)
