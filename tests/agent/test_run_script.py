"""A script that runs with an agent in it behaves as under plain Python."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tensorscope.transport.session_reader import read_session
from tests.agent.target import BOOTSTRAP, PRELUDE, Target, run_plain, write_script
from tests.agent.window import Window

ABOUT = """
import os, sys, __main__
print(sys.argv, sys.path[0], __name__, __file__, __main__.__dict__ is globals(), __spec__, __package__)
print(sorted(k for k in globals()))
print([p for p in sys.path if "tensorscope" in p], "torch" in sys.modules)
"""
TRAIN = """
import sys
net = torch.nn.Linear(4, 4)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
def train(steps):
    for _ in range(steps):
        opt.zero_grad()
        net(torch.randn(2, 4)).sum().backward()
        opt.step()
"""
WITH_TORCH = {
    "exit 7": "train(3)\nsys.exit(7)\n",
    "error in the engine": "train(3)\ny = net(torch.ones(1, 4)).exp().sum()\ny.backward()\ny.backward()\n",
    "error in forward": "train(3)\nnet(torch.ones(3, 3))\n",
    "descriptors that are something else now": (
        "import os\nfiles = [open(os.devnull) for _ in range(40)]\ntrain(3)\n"
        "for file in files: file.close()\nprint('fine')\n"
    ),
    "interrupt": "train(3)\nraise KeyboardInterrupt\n",
    "compile": "train(3)\nnet = torch.compile(net, backend='eager')\ntrain(3)\n",
}
WITHOUT_TORCH = {
    "return": "print('fine')\n",
    "exit with text": "import sys\nsys.exit('no more')\n",
    "error": "def fail():\n    raise ValueError('mine')\nfail()\n",
    "error with a cause": "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise KeyError('k') from e\n",
    "own excepthook": "import sys\nsys.excepthook = lambda *a: print('hook', a[0], a[1])\n1 / 0\n",
    "syntax": "def f(:\n",
    "annotations": "class C:\n    x: float = 1.0\nprint(C.__annotations__)\n",
    "closed descriptors": "import os\nos.closerange(3, 256)\nprint('fine')\n",
}
ENDINGS = {**{name: TRAIN + text for name, text in WITH_TORCH.items()}, **WITHOUT_TORCH}


def with_agent(
    script: Path, *args: str, options: tuple[str, ...] = ("--address", "none")
) -> tuple[int, str, str]:
    with Target(script, *args, options=options) as target:
        return target.finish()


def test_that_a_script_sees_the_main_module_arguments_and_path_of_plain_python(tmp_path: Path) -> None:
    script = write_script(tmp_path, ABOUT, "")
    assert with_agent(script, "--x", "1") == run_plain(script, "--x", "1")


def test_that_a_module_is_run_as_by_plain_python(tmp_path: Path) -> None:
    package = tmp_path / "job"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "__main__.py").write_text(ABOUT.replace("__spec__", "__spec__.name"))

    def run(*command: str) -> tuple[int, str, str]:
        done = subprocess.run(
            [sys.executable, *command, "job", "a"], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout, done.stderr

    assert run(str(BOOTSTRAP), "--address", "none", "-m") == run("-m")
    assert run("-m")[0] == 0


@pytest.mark.parametrize("ending", ENDINGS)
def test_that_exit_code_output_and_traceback_are_those_of_plain_python(tmp_path: Path, ending: str) -> None:
    script = write_script(tmp_path, ENDINGS[ending], PRELUDE if ending in WITH_TORCH else "")
    # Hooked modules take another path within torch, so that torch's own frames differ there.
    record = () if ending == "error in forward" else ("--record", str(tmp_path / "s.tscope"))
    assert with_agent(script, options=("--address", "none", *record)) == run_plain(script)


def test_that_the_agent_alone_writes_a_session_file(tmp_path: Path) -> None:
    script = write_script(tmp_path, TRAIN + "train(9)\n")
    options = ("--address", "none", "--record", str(tmp_path / "s.tscope"), "--steps", "5")
    assert with_agent(script, options=options) == (0, "", "")
    frames = list(read_session(tmp_path / "s.tscope"))
    kinds = [frame.kind for frame in frames]
    assert (kinds.count("step"), kinds.count("graph"), kinds[-1]) == (5, 1, "bye")
    assert [frame.step for frame in frames if frame.kind == "step"] == [0, 1, 2, 3, 4]
    assert not [frame.meta for frame in frames if frame.kind == "notice"]


def test_that_a_session_file_that_cannot_be_written_is_told_in_one_line(tmp_path: Path) -> None:
    script = write_script(tmp_path, "print('ran')\n")
    code, out, err = with_agent(script, options=("--record", str(tmp_path / "no" / "s.tscope")))
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert err.startswith("tensorscope: ")


def test_that_a_missing_script_is_told_as_plain_python_tells_it(tmp_path: Path) -> None:
    script = tmp_path / "none.py"
    assert with_agent(script) == run_plain(script)


def test_that_torch_is_imported_by_the_script_and_not_before(tmp_path: Path) -> None:
    text = (
        "import os, sys\nassert 'torch' not in sys.modules\nos.environ['OMP_NUM_THREADS'] = '1'\n"
        "import torch\nprint(torch.get_num_threads(), 'tensorscope.agent.runtime' in sys.modules)\n"
    )
    script = write_script(tmp_path, text, "")
    assert with_agent(script) == (0, "1 True\n", "")


def test_that_ctrl_c_ends_the_script_as_under_plain_python(tmp_path: Path) -> None:
    script = write_script(tmp_path, TRAIN + "print('begun', flush=True)\nwhile True:\n    train(1)\n")
    with Target(script) as target:
        assert target.process.stdout is not None
        target.process.stdout.readline()
        time.sleep(0.2)
        target.process.send_signal(signal.SIGINT)
        code, _, err = target.finish()
    assert code == -signal.SIGINT
    assert "KeyboardInterrupt" in err
    assert "tensorscope" not in err
    assert not os.path.exists(target.address.removeprefix("unix:"))


def test_that_a_script_stops_after_the_wanted_steps_with_code_zero(tmp_path: Path) -> None:
    text = TRAIN + "try:\n    train(10**9)\nfinally:\n    print('cleaned up')\nprint('not reached')\n"
    script = write_script(tmp_path, text)
    with (
        Target(script, options=("--steps", "5", "--no-deep-first")) as target,
        Window(target.address) as window,
    ):
        window.wait(lambda: window.of("bye"))
        assert target.finish() == (0, "cleaned up\n", "")
    assert len(window.of("step")) == 5


def test_that_a_bad_address_is_told_in_one_line_and_the_script_does_not_run(tmp_path: Path) -> None:
    script = write_script(tmp_path, "print('ran')\n")
    code, out, err = with_agent(script, options=("--address", "tcp:example.org:1"))
    assert (code, out) == (1, "")
    assert err.count("\n") == 1
    assert "Only 127.0.0.1 is allowed" in err


def test_that_the_agent_needs_nothing_but_torch(tmp_path: Path) -> None:
    block = ("import sys\nfor name in ('numpy', 'PySide6', 'psygnal', 'pyqtgraph', 'platformdirs'):\n"
             "    sys.modules[name] = None\n")  # fmt: skip
    count = "print(torch.__name__, len([m for m in sys.modules if m.startswith('tensorscope.')]) > 15)\n"
    script = write_script(tmp_path, block + "import torch\n" + TRAIN + "train(3)\n" + count, "")
    code, out, err = with_agent(script, options=("--no-deep-first",))
    assert (code, out) == (0, "torch True\n")
    assert "tensorscope" not in err
