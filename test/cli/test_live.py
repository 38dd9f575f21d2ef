# The table that tune shows on a terminal: at every width no line is longer than it, the cursor goes back to the table's top and
# nowhere else, what is news stays above it, and Ctrl-C is answered. Judged by a small terminal, which keeps what would be seen.
# SEER_TEST: timeout=300 cost=30
import codecs
import fcntl
import os
import pty
import re
import select
import shutil
import signal
import struct
import sys
import tempfile
import termios
import time

PROGRAM = os.path.abspath(os.environ.get("FAMILYSEER", "build/familyseer"))
folder = tempfile.mkdtemp()


def expect(what, message):
    if not what:
        sys.exit(f"FAILED: {message}")


class Screen:
    """What a terminal would show, without its scrolling: rows of all that was written."""

    def __init__(self, columns):
        self.columns, self.rows, self.row, self.column = columns, [""], 0, 0
        self.longest, self.n_redrawn, self.is_over, self.left, self.first = 0, 0, False, "", None

    def feed(self, text):
        text = self.left + text
        self.left = ""
        while text:
            control = re.match(r"\x1b\[(\d*)([A-Za-z])", text)
            if text[0] == "\x1b" and not control:
                expect(len(text) < 8, f"an escape that no terminal knows: {text[:20]!r}")
                self.left = text
                return
            if control:
                self.control(int(control[1] or 1), control[2])
                text = text[control.end():]
                continue
            self.put(text[0])
            text = text[1:]

    def control(self, n, letter):
        if letter == "A":
            self.row -= n
            self.n_redrawn += 1
            expect(self.row >= 0 and self.column == 0, f"the cursor goes up by {n}, to {self.row},{self.column}")
            expect(self.rows[self.row].startswith("  ID  Task"), f"the cursor goes up to {self.rows[self.row]!r}")
        elif letter == "J":
            self.first = self.first or "\n".join(self.rows[self.row:])
            self.rows = self.rows[:self.row] + [""]
        elif letter == "K":
            self.rows[self.row] = self.rows[self.row][:self.column]
        else:
            expect(False, f"an escape {letter}")

    def put(self, character):
        if character == "\r":
            self.column = 0
        elif character == "\n":
            self.is_over |= re.match(r"\d+ measurements in ", self.rows[self.row]) is not None
            self.row += 1
            if self.row == len(self.rows):
                self.rows.append("")
        else:
            line = self.rows[self.row].ljust(self.column)
            self.rows[self.row] = line[:self.column] + character + line[self.column + 1:]
            self.column += 1
            # Of the search; what comes behind is lines of text, which the terminal may wrap.
            if not self.is_over:
                self.longest = max(self.longest, self.column)

    def text(self):
        return "\n".join(self.rows)


def tune(columns, rows, *flags, keys=()):
    """keys: (what has to be seen, a key to press then). Returns the screen and the status of waitpid."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["SEER_DEVICE_LOCK"] = os.path.join(folder, "device.lock")
        os.chdir(folder)
        # the size is known before it begins
        fcntl.ioctl(2, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        os.execv(PROGRAM, [PROGRAM, "tune", "mobilenet_v2_0.25", "--measure", "fake", "--ignore-records", *flags])
    screen, keys, until = Screen(columns), list(keys), time.time() + 120
    decoder = codecs.getincrementaldecoder("utf-8")()
    while True:
        expect(time.time() < until, f"no end at {columns} columns: {screen.text()}")
        if not select.select([terminal], [], [], 1)[0]:
            continue
        try:
            data = os.read(terminal, 4096)
        except OSError:  # what Linux says when the other end is closed
            break
        if not data:
            break
        screen.feed(decoder.decode(data))
        while keys and keys[0][0] in screen.text():
            os.write(terminal, keys.pop(0)[1])
    os.close(terminal)
    expect(not keys, f"{keys and keys[0][0]!r} was never seen: {screen.text()}")
    return screen, os.waitpid(pid, 0)[1]


def widths():
    titles = {}
    for columns in (20, 40, 60, 80, 120, 200):
        screen, status = tune(columns, 50, "--trials", "200")
        expect(status == 0, f"status {status} at {columns} columns: {screen.text()}")
        width = max(columns, 40)
        expect(screen.longest < width, f"a line of {screen.longest} at {columns} columns: {screen.text()}")
        expect(screen.n_redrawn >= 3, f"the table was drawn again {screen.n_redrawn} times")
        tables = [row for row in screen.rows if row.startswith("  ID  Task")]
        expect(len(tables) == 1, f"{len(tables)} tables are left at {columns} columns: {screen.text()}")
        titles[columns] = tables[0].split()
        rows = [row for row in screen.rows if re.match(r" +\d+  (conv|dwconv|gemm|pool|avg)", row)]
        expect(len(rows) == 16, f"{len(rows)} rows at {columns} columns: {screen.text()}")
        timed = [row for row in rows if re.search(r" \d+\.\d us", row) and re.search(r" \d+\.\d%", row)]
        expect(len(timed) >= 3, f"figures are missing at {columns} columns: {screen.text()}")
        news = [row for row in screen.rows if re.match(r"task \d+: \d", row)]
        expect(news and all("times as fast" in row or columns <= 40 for row in news), f"what was accepted: {news}")
        expect("not faster than" not in screen.text(), f"what was rejected is told: {screen.text()}")
    expect(titles[40] == "ID Task Latency Share".split(), f"40 columns: {titles[40]}")
    expect(set(titles[40]) < set(titles[60]) < set(titles[80]) < set(titles[120]), f"columns do not come one by one: {titles}")
    expect(titles[200] == titles[120], f"200 columns: {titles[200]}")


def a_low_one():
    """The table is never higher than the terminal: else its top would be out of reach."""
    screen, status = tune(100, 10, "--trials", "200")
    expect(status == 0 and screen.n_redrawn >= 3, f"status {status}, {screen.n_redrawn} tables")
    most = re.search(r"\.\.\. and (\d+) lighter tasks", screen.first or "")
    expect(most and int(most[1]) == 32 - 6, f"not 6 of 32 rows on 10 lines: {screen.first}")


def a_log():
    """Lines of a log and a table that moves do not go together."""
    screen, status = tune(100, 50, "--trials", "100", "--log", "search")
    expect(status == 0 and screen.n_redrawn == 0, f"status {status}, a table beside a log: {screen.text()}")
    expect("[search] " in screen.text(), "no log")


def ctrl_c():
    seen, kill = ("Sum of tasks: ", b"\x03"), ("stopping: what runs is finished", b"\x03")
    screen, status = tune(80, 50, "--time-budget", "100s", keys=[seen])
    expect(status == 0, f"status {status} after Ctrl-C: {screen.text()}")
    text = screen.text()
    expect("^C" not in text, f"^C stays: {text}")
    for part in ("the tuning ends; Ctrl-C again ends at once", "stopped by the user"):
        expect(part in " ".join(text.split()), f"{part!r} is not in {text}")
    expect(text.index("stopping: ") > text.index("Sum of tasks: "), f"the table is not left where it was: {text}")
    for _ in range(6):  # what runs may be finished before the second one is there
        screen, status = tune(80, 50, "--time-budget", "100s", keys=[seen, kill])
        if os.WIFSIGNALED(status):
            break
        expect(status == 0 and "stopped by the user" in screen.text(), f"status {status} after two: {screen.text()}")
    expect(os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGINT, f"status {status} after six times two: {screen.text()}")


try:
    widths()
    a_low_one()
    a_log()
    ctrl_c()
finally:
    shutil.rmtree(folder)
