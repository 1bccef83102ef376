"""A function is compiled and run with little room left in the address space: KIND of compilation.

Children of this process try one amount of room each. They end with 0 if the call gave the right result, 1 if it raised
MemoryError, and another status for anything else. Prints how many gave which.
"""

import collections
import os
import resource
import sys
import traceback

import minidynamo as torch

KIND = sys.argv[1]
STEPS = 40

source = "def f(x, log):\n    log.append(len(log))\n"
source += "".join(f"    x = (x * {k}.25).sin() + x.cumsum(0)\n" for k in range(STEPS))
scope = {}
exec(source + "    return x", scope)
f = scope["f"]


def used():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def child(room, expected):
    log = []
    compiled = torch.compile(f, fullgraph=KIND == "fullgraph", backend="eager" if KIND == "eager" else "inductor")
    unlimited = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used() + room, unlimited[1]))
    try:
        result = compiled(x, log)
    except MemoryError:
        result = None
    resource.setrlimit(resource.RLIMIT_AS, unlimited)
    raised = result is None
    assert raised or (result.tolist() == expected and log == [0]), (room, log)
    assert compiled(x, []).tolist() == expected
    return int(raised)


x = torch.linspace(0, 1, 5)
expected = f(x, []).tolist()
torch.compile(lambda x: x.sin() + 1)(x)  # the code generator is there
seen = collections.Counter()
for step in range(14):
    pid = os.fork()
    if pid == 0:
        status = 2
        try:
            status = child((1 << step) * 16384, expected)
        except BaseException:
            traceback.print_exc()
        os._exit(status)
    seen[os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])] += 1
print(seen.pop(0, 0), seen.pop(1, 0), dict(seen))
