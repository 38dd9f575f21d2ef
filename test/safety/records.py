"""Damaged records: lines to import and databases, by mutation of bytes, of values and of tables. Whatever the damage is,
`familyseer` ends with 0, or with 1 and a message, within the time and memory of limits.py; a database that is only read is as
it was, to the byte; and the user's own database keeps every record that it had, stays sound, and takes in nothing that
`records check` would object to.

    records.py [--lines N] [--databases N] [--seed S] [--first I]     (one case again: --first I --lines 1 --databases 0)
"""
import argparse
import json
import os
import random
import shutil
import sqlite3
import sys
import tempfile

import limits

EXTREMES = [0, 1, 0xFF, 0x7F, 0x80, 2**31 - 1, 2**31, 2**32 - 1, 2**46, 2**63 - 1, 2**63, 2**64 - 1]
NUMBERS = [0, 1, -1, 2, 7, 4096, 65536, 2**31, 2**32, 2**40, 2**63 - 1, -2**63, 1e-300, 1e-12, 1e-7, 0.5, 3601, 1e300]
TEXTS = ["", " ", "\u001b[2J", "\u202e", "here", "accepted", "trusted", "ok", "sched \"\" {}", "x" * 70000, "\n", "'; DROP TABLE target; --"]
TABLES = ["CREATE VIEW more AS SELECT * FROM measurement",
          "ALTER TABLE target RENAME TO old; CREATE VIEW target AS SELECT id, key, feature_key, text FROM old",
          "CREATE TRIGGER t AFTER INSERT ON session BEGIN DELETE FROM measurement; END",
          "CREATE TABLE more(x)", "DROP INDEX measurement_by_time", "DROP TABLE session", "DROP INDEX measurement_winner",
          "PRAGMA user_version = 0", "PRAGMA user_version = 1", "PRAGMA user_version = 2", "PRAGMA user_version = 99", "PRAGMA application_id = 1"]


def number_in(rng, text):
    """Another number in place of one of a text's, or None where it has none."""
    places = [(i, j) for i in range(len(text)) if text[i].isdigit() and (i == 0 or not text[i - 1].isdigit())
              for j in [next((k for k in range(i, len(text)) if not text[k].isdigit()), len(text))]]
    if not places:
        return None
    i, j = rng.choice(places)
    return text[:i] + str(rng.choice([0, 1, 2, 3, 5, 16, 64, 1000, 4096, 4097, 65535, 65536, 2**31, 2**40, 2**62, 2**63])) + text[j:]


def cut_text(rng, text):
    i, j = sorted((rng.randrange(len(text) + 1), rng.randrange(len(text) + 1)))
    return rng.choice([text[:i], text[i:], text[:i] + text[j:], text[:j] + text[i:], text + text])


def other_value(rng, value):
    """Another value where one was: of its own kind most often."""
    kind = rng.randrange(8)
    if kind == 0:
        return rng.choice([None, [], {}, [[[[1]]]], True, "1", 1])
    if isinstance(value, str):
        return (number_in(rng, value) if kind < 5 else None) or rng.choice([cut_text(rng, value), rng.choice(TEXTS)])
    if isinstance(value, list):
        return rng.choice([[], value * 100, [rng.choice(NUMBERS)] * 3, ["x"]])
    return rng.choice(NUMBERS + [value * 2, value / 16, -value] if isinstance(value, (int, float)) else NUMBERS)


def leaves(value, path=()):
    if isinstance(value, dict):
        return [leaf for key in value for leaf in leaves(value[key], path + (key,))]
    return [path]


def damaged_line(rng, line):
    """(what was done, bytes)"""
    if rng.randrange(3) == 0:
        data = bytearray(line.encode())
        done = damage_bytes(rng, data, 0, len(data))
        return done, bytes(data).replace(b"\n", b" ")
    record, done = json.loads(line), []
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        path = rng.choice(leaves(record))
        at = record
        for key in path[:-1]:
            at = at[key]
        if rng.randrange(10) == 0:
            del at[path[-1]]
        else:
            at[path[-1]] = other_value(rng, at[path[-1]])
        done.append(".".join(path))
        if not leaves(record):
            break
    return " ".join(done), json.dumps(record, ensure_ascii=rng.choice([True, False])).encode("utf-8", "surrogatepass")


def damage_bytes(rng, data, low, high):
    done = []
    for _ in range(rng.randint(1, 4)):
        at, kind = rng.randrange(low, high), rng.randrange(4)
        n = min(rng.choice([1, 2, 4, 8, 64, 512]), high - at)
        if kind == 0:
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            data[at:at + n] = rng.randbytes(n)
        elif kind == 2:
            data[at:at + n] = rng.choice(EXTREMES).to_bytes(8, "big").rjust(n, b"\0")[-n:]
        else:
            other = rng.randrange(low, high - n + 1)
            data[at:at + n] = data[other:other + n]
        done.append(f"{('bit', 'random', 'extreme', 'copy')[kind]}@{at}+{n}")
    return " ".join(done)


def damage_file(rng, path):
    with open(path, "rb") as f:
        data = bytearray(f.read())
    kind = rng.randrange(6)
    if kind == 0:
        del data[rng.randrange(len(data)):]
        done = f"cut to {len(data)}"
    elif kind == 1:  # a page in the place of another
        n, a, b = 4096, rng.randrange(len(data) // 4096), rng.randrange(len(data) // 4096)
        data[a * n:(a + 1) * n] = data[b * n:(b + 1) * n]
        done = f"page {b} over {a}"
    elif kind == 2:
        done = "header " + damage_bytes(rng, data, 0, 100)
    elif kind == 3:  # the first bytes of a page say what the rest is
        page = rng.randrange(len(data) // 4096) * 4096
        done = "head of a page " + damage_bytes(rng, data, page + (100 if page == 0 else 0), page + 128)
    else:
        done = damage_bytes(rng, data, 0, len(data))
    with open(path, "wb") as f:
        f.write(data)
    if rng.randrange(12) == 0:
        with open(path + "-wal", "wb") as f:
            f.write(rng.randbytes(rng.choice([1, 32, 4096])))
        done += ", a journal"
    return done


def damage_values(rng, path):
    db = sqlite3.connect(path)
    db.execute("DROP INDEX measurement_winner")  # as no program of ours would leave it
    done = []
    for _ in range(rng.randint(1, 3)):
        table = rng.choice(["target", "workload", "session", "measurement", "measurement", "measurement"])
        column = rng.choice([row[1] for row in db.execute(f"PRAGMA table_info({table})")])
        rows = db.execute(f"SELECT rowid, {column} FROM {table}").fetchall()
        some = rows if rng.randrange(3) == 0 else [rng.choice(rows)]
        for row, value in some:
            new = rng.choice([other_value(rng, value if value is not None else 0), b"\0\xff\x1b", "\0" + str(value)])
            if isinstance(new, (list, dict)) or new is None:
                new = rng.choice(TEXTS)
            if isinstance(new, int) and not -2**63 <= new < 2**63:
                new = -1
            try:
                db.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (new, row))
            except sqlite3.Error:
                pass
        done.append(f"{table}.{column} of {len(some)}")
    try:
        db.execute("CREATE UNIQUE INDEX measurement_winner ON measurement(workload, target) WHERE state = 'accepted' AND place <> 'elsewhere'")
        db.commit()
    except sqlite3.Error:
        db.rollback()
    db.close()
    return "values " + ", ".join(done)


def damage_tables(rng, path):
    sql = rng.choice(TABLES)
    db = sqlite3.connect(path)
    db.executescript(sql)
    db.close()
    return sql


def damaged_database(rng, path):
    return rng.choice([damage_file, damage_file, damage_values, damage_values, damage_tables])(rng, path)


def read_all(path):
    with open(path, "rb") as f:
        return f.read()


class Campaign:
    def __init__(self, folder):
        self.folder, self.sanitized = folder, limits.is_sanitized()
        self.env = dict(os.environ, XDG_CACHE_HOME=os.path.join(folder, "cache"))
        self.base, self.own = self.path("base.sqlite"), self.path("own.sqlite")
        for file, trials, seed in ((self.base, 40, 1), (self.own, 24, 2)):
            self.must("tune", "mlp", "--measure", "fake", "--trials", str(trials), "--seed", str(seed), "--records", file)
        self.must("records", "export", self.path("base.jsonl"), "--records", self.base)
        with open(self.path("base.jsonl"), encoding="utf-8") as f:
            self.lines = f.read().splitlines()
        self.before = self.rows(self.own)

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, *words):
        return limits.run([os.path.abspath(limits.FAMILYSEER), *words], env=self.env, cwd=self.folder)

    def must(self, *words):
        outcome = self.run(*words)
        assert outcome.status == 0, outcome.stderr
        return outcome

    @staticmethod
    def rows(path):
        """What the machine itself has measured, winners apart: these may change places."""
        db = sqlite3.connect(path)
        rows = db.execute("SELECT id, session, workload, target, schedule, class, seconds, samples, origin, worker, device FROM measurement WHERE place = 'here'").fetchall()
        sound = db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        version = db.execute("PRAGMA user_version").fetchone() == (3,)
        db.close()
        return rows if sound and version else None

    def fresh_own(self):
        path = self.path("mine.sqlite")
        for suffix in ("-wal", "-shm"):
            if os.path.exists(path + suffix):
                os.remove(path + suffix)
        shutil.copy(self.own, path)
        return path

    def judge(self, tally, name, words, given, allowed, own=None):
        outcome = self.run(*words)
        found = limits.faults(outcome, given, self.sanitized)
        if outcome.status not in allowed:
            found.append(f"status {outcome.status}, should be {sorted(allowed)}")
        # The damage may lie where a tuning has read some records already, and said how many.
        if outcome.status == 1 and not any(line.startswith(b"familyseer") for line in outcome.stderr.splitlines()):
            found.append("the message is not ours")
        if own and self.rows(own) != self.before:
            found.append("the own database has lost or changed records")
        tally.add(f"{name}: {words[0]}", outcome, found, given)
        return outcome

    def line(self, tally, rng, name):
        sound = rng.choice(self.lines)
        what, data = damaged_line(rng, rng.choice(self.lines))
        with open(self.path("in.jsonl"), "wb") as f:
            f.write(data + b"\n" + sound.encode() + b"\n")
        own, given, name = self.fresh_own(), len(data), f"{name} {what}"[:200]
        trust = ["--trust-records"] if rng.randrange(2) else []
        self.judge(tally, name, ["records", "import", "in.jsonl", "--records", own, *trust], given, {0}, own)
        self.judge(tally, name, ["records", "check", "--records", own], given, {0}, own)
        if rng.randrange(10) == 0:
            self.judge(tally, name, ["tune", "mlp", "--measure", "fake", "--trials", "3", "--records", own], given, {0})
            self.judge(tally, name, ["compile", "mlp", "-o", "out", "--measure", "fake", "--records", own], given, {0})

    def database(self, tally, rng, name):
        bad, own = self.path("bad.sqlite"), self.fresh_own()
        for suffix in ("-wal", "-shm", "-journal"):
            if os.path.exists(bad + suffix):
                os.remove(bad + suffix)
        shutil.copy(self.base, bad)
        name = f"{name} {damaged_database(rng, bad)}"[:200]
        before, given = read_all(bad), os.path.getsize(bad)
        trust = ["--trust-records"] if rng.randrange(2) else []
        self.judge(tally, name, ["records", "merge", bad, "--records", own, *trust], given, {0, 1}, own)
        self.judge(tally, name, ["records", "check", "--records", own], given, {0}, own)
        for words in (["records", "check"], ["records", "best", "mlp", "--measure", "fake"], ["records", "export", "out.jsonl"],
                      ["compile", "mlp", "-o", "out", "--measure", "fake"]):
            outcome = self.judge(tally, name, [*words, "--records", bad], given, {0, 1})
            if read_all(bad) != before:
                tally.add(f"{name}: {words}", outcome, ["a database that was only read was changed"])
        self.judge(tally, name, ["tune", "mlp", "--measure", "fake", "--trials", "3", "--records", bad], given, {0, 1})


def main(argv=None):
    """The campaign; returns an exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=1000)
    parser.add_argument("--databases", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    args = parser.parse_args(argv)
    limits.no_core_files()
    is_fine = True
    with tempfile.TemporaryDirectory() as tmp:
        campaign = Campaign(tmp)
        for label, n, case in (("lines of records", args.lines, campaign.line), ("databases of records", args.databases, campaign.database)):
            tally = limits.Tally(label)
            for i in range(args.first, args.first + n):
                case(tally, random.Random(f"{label}/{args.seed}/{i}"), f"{args.seed}/{i}")
            is_fine = (n == 0 or tally.close()) and is_fine
    return 0 if is_fine else 1


if __name__ == "__main__":
    sys.exit(main())
