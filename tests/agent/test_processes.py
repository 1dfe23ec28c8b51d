"""Windows that stall or die, workers that fork: the training goes on."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

from tests.agent.target import Target, write_script
from tests.agent.window import Window

READ_ONE_THEN_STOP = """
import socket, sys, time
connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1].removeprefix("unix:"))
while b"step" not in connection.recv(65536):
    pass
print("reads no more", flush=True)
time.sleep(1000)
"""
TRAIN = """
import os, sys
import torch.utils.data
def rss():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
net = torch.nn.Sequential(*(torch.nn.Linear(16, 16) for _ in range(30)))
opt = torch.optim.SGD(net.parameters(), lr=1e-3)
def train(steps):
    for _ in range(steps):
        opt.zero_grad()
        net(torch.ones(4, 16)).sum().backward()
        opt.step()
"""
UNREAD = """
train(50)
sys.stdin.readline()
before = rss()
train(1500)
print(rss() - before, flush=True)
sys.stdin.readline()
while True:
    train(1)
"""
WORKERS = """
def sockets(pid, descriptors):
    paths = [f"/proc/{pid}/fd/{descriptor}" for descriptor in descriptors]
    return [os.readlink(path) for path in paths if os.path.lexists(path)]
class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 24
    def __getitem__(self, i):
        import threading
        files = sockets("self", os.listdir("/proc/self/fd"))
        parent = sockets(os.getppid(), MINE)
        from torch.nn.modules import module
        held = len(module._global_forward_hooks) + any(f in files for f in parent)
        held += torch.autograd._engine_run_backward.__module__ != "torch.autograd.graph"
        torch.nn.Linear(2, 2)(torch.ones(1, 2)).sum().backward()
        return torch.full((16,), float(held)), os.getpid()
agent = sys.modules["tensorscope.agent.watch"].current()
import time
while not agent.courier.has_sink:
    time.sleep(0.01)
train(3)
MINE = [agent.courier._client.socket.fileno(), agent.courier.listener.socket.fileno()]
for epoch in range(2):
    for rows, pids in torch.utils.data.DataLoader(Data(), batch_size=4, num_workers=2):
        assert rows.sum() == 0, rows
        assert os.getpid() not in pids
        train(1)
print("fine", flush=True)
"""


def test_that_a_window_that_never_reads_and_then_dies_costs_bounded_memory(tmp_path: Path) -> None:
    script = write_script(tmp_path, TRAIN + UNREAD)
    reading, writing = os.pipe()
    with Target(script, options=("--no-deep-first",), stdin=reading) as target:
        os.close(reading)
        assert target.process.stdout is not None
        command = [sys.executable, "-c", READ_ONE_THEN_STOP, target.address]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as window:
            assert window.stdout is not None
            os.write(writing, b"go on\n")
            window.stdout.readline()
            window.send_signal(signal.SIGSTOP)
            grown = int(target.process.stdout.readline())
            window.kill()
        assert grown < (8 << 20) + (8 << 20), f"{grown} bytes"
        os.write(writing, b"go on\n")
        os.close(writing)
        with Window(target.address) as window:
            window.wait(lambda: len(window.of("step")) > 3 and window.of("heartbeat"))
            assert window.of("heartbeat")[-1].meta["dropped_frames"] > 0
            assert window.column("step", "step")[0] > 1500
            assert window.of("baseline")
            window.strings()


def test_that_forked_workers_hold_nothing_of_the_agent(tmp_path: Path) -> None:
    script = write_script(tmp_path, TRAIN + WORKERS)
    with Target(script) as target, Window(target.address) as window:
        window.wait(lambda: window.of("bye"))
        assert target.finish() == (0, "fine\n", "")
    assert window.column("step", "step") == list(range(1, 15))


def test_that_clients_that_connect_and_leave_at_once_do_no_harm(tmp_path: Path) -> None:
    script = write_script(tmp_path, TRAIN + "while True:\n    train(1)\n")
    with Target(script) as target:
        for _ in range(50):
            with socket.socket(socket.AF_UNIX) as connection:
                connection.connect(target.address.removeprefix("unix:"))
        with Window(target.address) as window:
            window.wait(lambda: len(window.of("step")) > 3)
            target.process.send_signal(signal.SIGTERM)
            code, _, err = target.finish()
    assert (code, err) == (-signal.SIGTERM, "")
