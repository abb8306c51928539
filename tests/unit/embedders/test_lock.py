import subprocess
import sys
from pathlib import Path

from recollect.embedders.install import alone

SCRIPT = """
import sys, time
from pathlib import Path
from recollect.embedders.lock import alone
folder = Path(sys.argv[1])
with alone(folder / "inner" / ".lock"):
    number = int((folder / "count").read_text())
    time.sleep(0.05)
    (folder / "count").write_text(str(number + 1))
"""


def test_only_one_process_at_a_time_is_inside(tmp_path: Path) -> None:
    (tmp_path / "count").write_text("0")

    started = [subprocess.Popen([sys.executable, "-c", SCRIPT, str(tmp_path)]) for _ in range(4)]  # noqa: S603
    codes = [process.wait() for process in started]

    assert codes == [0, 0, 0, 0]
    assert (tmp_path / "count").read_text() == "4"


def test_a_process_that_dies_inside_leaves_the_door_open(tmp_path: Path) -> None:
    script = SCRIPT.replace("time.sleep(0.05)", "print(1, flush=True); time.sleep(60)")
    (tmp_path / "count").write_text("0")
    dying = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE)  # noqa: S603
    assert dying.stdout
    dying.stdout.readline()

    dying.kill()
    dying.communicate()
    with alone(tmp_path / "inner" / ".lock"):
        count = (tmp_path / "count").read_text()

    assert count == "0"
