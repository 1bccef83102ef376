"""VS Code's debugger, by its protocol: breakpoints in compiled code stop there, with the user's variables."""

import contextlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

import pytest

import minidynamo

PROGRAM = """
import minidynamo as torch

def inner(y):
    z = y * 2
    return z + 1

@torch.compile(backend="eager")
def f(x, n):
    a = x + n
    b = inner(a)
    print("break")
    c = b - 1
    return c + a

class Net(torch.nn.Module):
    def forward(self, x):
        h = x * 3
        return h

net = torch.compile(Net(), backend="eager")

def main():
    for n in range(2):
        r = f(torch.ones(2), n)
    q = net(r)
    print(q.tolist())

f(torch.ones(2), 7)
net(torch.ones(2))
print("warm")
main()
"""
LINES = {text.strip(): number for number, text in enumerate(PROGRAM.splitlines(), 1)}


class Client:
    """Requests and answers of the debug adapter protocol."""

    def __init__(self, port):
        for _ in range(1200):  # a busy machine takes its time
            try:
                self.socket = socket.create_connection(("127.0.0.1", port), timeout=30)
                break
            except ConnectionRefusedError:
                time.sleep(0.05)
        self.file, self.number, self.events = self.socket.makefile("rb"), 0, []

    def send(self, command, **arguments):
        self.number += 1
        body = json.dumps({"seq": self.number, "type": "request", "command": command, "arguments": arguments}).encode()
        self.socket.sendall(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        return self.number

    def message(self):
        length = 0
        while line := self.file.readline().strip():
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        return json.loads(self.file.read(length))

    def wait(self, fits):
        for event in self.events:
            if fits(event):
                self.events.remove(event)
                return event
        while True:
            message = self.message()
            if fits(message):
                return message
            self.events.append(message)

    def ask(self, command, **arguments):
        number = self.send(command, **arguments)
        answer = self.wait(lambda m: m["type"] == "response" and m["request_seq"] == number)
        assert answer["success"], answer
        return answer.get("body")

    def event(self, *names):
        return self.wait(lambda m: m["type"] == "event" and m["event"] in names)

    def stopped(self):
        """(functions and lines of the program's frames, variables of the innermost one); None: the program is over."""
        event = self.event("stopped", "terminated")
        if event["event"] == "terminated":
            return None
        self.thread = event["body"]["threadId"]
        frames = self.ask("stackTrace", threadId=self.thread)["stackFrames"]
        (scope,) = [s for s in self.ask("scopes", frameId=frames[0]["id"])["scopes"] if s["name"] == "Locals"]
        variables = self.ask("variables", variablesReference=scope["variablesReference"])["variables"]
        shown = {v["name"]: v["value"] for v in variables if "variables" not in v["name"]}
        return [(frame["name"], frame["line"]) for frame in frames if frame["name"] != "run_path"], shown


@pytest.fixture
def debugged(tmp_path):
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {
        **os.environ,
        "PYTHONPATH": str(pathlib.Path(minidynamo.__file__).parents[1]),
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    }
    command = [sys.executable, "-m", "debugpy", "--listen", f"127.0.0.1:{port}", "--wait-for-client", str(file)]
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    client = Client(port)
    try:
        client.ask("initialize", adapterID="test", pathFormat="path", linesStartAt1=True, columnsStartAt1=True)
        attach = client.send("attach", justMyCode=True)
        client.event("initialized")
        yield client, str(file), lambda: client.wait(lambda m: m["type"] == "response" and m["request_seq"] == attach)
    finally:
        with contextlib.suppress(ProcessLookupError):  # with the adapter, which it has started
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        client.file.close()
        client.socket.close()


def test_a_session(debugged):
    client, file, attached = debugged

    def breakpoints(*texts, **more):
        points = [{"line": LINES[text], **more} for text in texts]
        client.ask("setBreakpoints", source={"path": file}, breakpoints=points)

    breakpoints("b = inner(a)")
    client.ask("configurationDone")
    attached()
    frames, variables = client.stopped()
    assert frames[0] == ("f", LINES["b = inner(a)"]) and variables["n"] == "7"
    breakpoints('print("warm")')
    client.send("continue", threadId=client.thread)
    assert client.stopped()[0][0][0] == "<module>"

    # Everything is compiled now. In the caller of inner, which had it inlined; in inner; after the break.
    breakpoints("b = inner(a)", "return z + 1", "c = b - 1", "return h")
    client.send("continue", threadId=client.thread)
    frames, variables = client.stopped()
    assert frames == [
        ("f", LINES["b = inner(a)"]),
        ("main", LINES["r = f(torch.ones(2), n)"]),
        ("<module>", LINES["main()"]),
    ]
    assert variables["n"] == "0" and variables["a"].startswith("tensor([1., 1.]")
    client.send("continue", threadId=client.thread)
    frames, variables = client.stopped()
    assert [name for name, _ in frames] == ["inner", "f", "main", "<module>"]
    assert variables["z"].startswith("tensor([2., 2.]")
    client.send("stepOut", threadId=client.thread)
    frames, variables = client.stopped()
    assert frames[0][0] == "f"
    client.send("continue", threadId=client.thread)
    frames, variables = client.stopped()
    assert frames[0] == ("f", LINES["c = b - 1"]) and variables["b"].startswith("tensor([3., 3.]")
    client.send("next", threadId=client.thread)
    frames, variables = client.stopped()
    assert frames[0] == ("f", LINES["return c + a"]) and variables["c"].startswith("tensor([2., 2.]")

    breakpoints("return h", condition="h.shape[0] == 2")
    client.send("continue", threadId=client.thread)
    frames, variables = client.stopped()
    assert frames[0][0].endswith("forward") and frames[0][1] == LINES["return h"]
    assert "h" in variables and "x" in variables
    client.send("continue", threadId=client.thread)
    assert client.stopped() is None
