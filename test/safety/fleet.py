#!/usr/bin/env python3
"""A fleet of three workers on a redis-server of its own, and what may befall it at random moments of a tuning:

  test/safety/fleet.py --each 3        until each of these has happened so often (20)

  worker    a worker is killed, and another one started
  tuner     the tuner is killed, and started again on its records
  forgets   the server is killed, and started again without its data
  restarts  the server is killed, and started again with its data (appendonly)
  wiped     FLUSHALL
  cut       nothing passes between the broker and everybody for 20 s (--cut)
  clock     the server's clock is an hour ahead, and then right again
  forged    what is no letter, and old letters once more, in all streams
  wrong     a fourth worker, which has the password, and whose answers are nonsense (nonsense.py)
  silent    a fourth worker, which takes rounds, vouches for them and never answers
  version   a worker of another version is there

Each tuning has to end with status 0 and all its trials, and with a library that `verify` finds right. What was announced is in
the records as it was announced, once. Times are arithmetic (`--measure fake`), so a schedule takes one time there, and no two take
the same: nothing is mixed up, counted twice or lost. Nothing that a wrong worker has made up is there.
"""
import argparse
import json
import os
import random
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from nonsense import WIRE_VERSION, WORKER, Nonsense, Silent, Way, seal  # noqa: E402

PROGRAM = os.path.abspath(os.environ.get('FAMILYSEER', 'build/familyseer'))
PASSWORD = 'open sesame/@'


def fail(message):
    sys.exit(f'FAILED: {message}')


def expect(what, message):
    if not what:
        fail(message)


class Fleet:
    """A server, its workers and its tunings. To be closed whatever happens."""

    def __init__(self, keeps_data=False):
        self.folder = tempfile.mkdtemp()
        self.socket = os.path.join(self.folder, 'redis.sock')
        self.url = f'unix://{self.socket}'
        self.env = dict(os.environ, SEER_FLEET_PASSWORD=PASSWORD, XDG_CACHE_HOME=self.folder)
        self.keeps_data = keeps_data
        self.processes = []
        self.server = self.start_server()

    def close(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
                process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start_server(self):
        server = subprocess.Popen(['redis-server', '--port', '0', '--unixsocket', self.socket, '--save', '', '--dir', self.folder,
                                   '--requirepass', PASSWORD, '--appendonly', 'yes' if self.keeps_data else 'no',
                                   '--appendfsync', 'always'], stdout=subprocess.DEVNULL)
        self.processes.append(server)
        for _ in range(200):
            if self.redis('PING').strip() == 'PONG':
                return server
            time.sleep(0.05)
        fail('redis-server did not start')

    def start_tls_server(self, certificates):
        """A second one, with the certificates of test/support, which asks who connects. -> its port"""
        with socket.socket() as free:
            free.bind(('127.0.0.1', 0))
            port = free.getsockname()[1]
        server = subprocess.Popen(['redis-server', '--port', '0', '--tls-port', str(port), '--save', '', '--dir', certificates,
                                   '--requirepass', PASSWORD, '--tls-cert-file', 'good.pem', '--tls-key-file', 'good.key',
                                   '--tls-ca-cert-file', 'ca.pem', '--tls-auth-clients', 'yes'],
                                  cwd=certificates, stdout=subprocess.DEVNULL)
        self.processes.append(server)
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(('127.0.0.1', port)) == 0:
                    return port
            time.sleep(0.05)
        fail('redis-server did not start with TLS')

    def restart_server(self, with_data):
        self.server.kill()
        self.server.wait()
        if not with_data:
            shutil.rmtree(os.path.join(self.folder, 'appendonlydir'), ignore_errors=True)
        self.server = self.start_server()

    def redis(self, *words, data=None):
        """What redis-cli prints; `data` is the last word."""
        command = ['redis-cli', '-s', self.socket, '--no-auth-warning', '-a', PASSWORD, *(['-x'] if data is not None else []), *words]
        return subprocess.run(command, input=data, capture_output=True).stdout.decode(errors='replace')

    def start_worker(self, *flags, url=None, is_service=False, program=PROGRAM):
        """is_service: told by its environment alone which fleet is meant, as a service is."""
        log = open(os.path.join(self.folder, f'worker{len(self.processes)}.txt'), 'w')
        where = [] if is_service else ['--fleet', url or self.url]
        env = dict(self.env, SEER_FLEET=url or self.url) if is_service else self.env
        worker = subprocess.Popen([program, 'worker', *where, '--measure', 'fake:delay=20ms', *flags], env=env, stderr=log)
        worker.log = log
        self.processes.append(worker)
        return worker

    def stop(self, *workers, within=60):
        """All at once: one that cannot post its last answers waits for that, and nobody behind it."""
        for worker in workers:
            worker.terminate()
        for worker in workers:
            expect(worker.wait(within) == 0, 'a worker did not end well')

    def workers(self):
        out = subprocess.run([PROGRAM, 'fleet', self.url, '--json'], env=self.env, capture_output=True, text=True)
        expect(out.returncode == 0, f'fleet --json: {out.stderr}')
        return [json.loads(line) for line in out.stdout.splitlines()]

    def wait_for_workers(self, n):
        for _ in range(300):
            if len(self.workers()) == n:
                return
            time.sleep(0.1)
        fail(f'{len(self.workers())} workers, not {n}')

    def start_tuning(self, *flags, model='squeezenet1_1', url=None):
        tuner = subprocess.Popen([PROGRAM, 'tune', model, '--fleet', url or self.url, '--json', '--log', 'measure:1', *flags],
                                 env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.processes.append(tuner)
        tuner.errors = []
        tuner.reader = threading.Thread(target=lambda: tuner.errors.extend(tuner.stderr), daemon=True)
        tuner.reader.start()
        return tuner

    def tune(self, *flags, on_event=None, status=0, **more):
        """-> events, what is on stderr"""
        tuner = self.start_tuning('--no-resume', *flags, **more)
        events = []
        for line in tuner.stdout:
            events.append(json.loads(line))
            if on_event:
                on_event(events)
        tuner.wait()
        tuner.reader.join()
        errors = ''.join(tuner.errors)
        expect(tuner.returncode == status, f'tune ended with {tuner.returncode}, not {status}:\n{errors[-3000:]}')
        return events, errors

    def forge(self, seed=1):
        """What is no letter, or is somebody else's, in every stream that there is; old letters once more."""
        rng = random.Random(seed)
        streams = self.redis('KEYS', 'familyseer:jobs:*').split() + self.redis('KEYS', 'familyseer:answers:*').split()
        for stream in streams:
            for n in (0, 1, 31, 64, 300):
                self.redis('XADD', stream, '*', 'm', data=rng.randbytes(n))
            self.redis('XADD', stream, '*', 'a', 'b', 'c', 'd')
        script = ("for _, s in ipairs(KEYS) do for _, e in ipairs(redis.call('XRANGE', s, '-', '+', 'COUNT', 3)) do "
                  "redis.call('XADD', s, '*', unpack(e[2])) end end return 1")
        self.redis('EVAL', script, str(len(streams)), *streams)
        self.redis('SADD', 'familyseer:workers', 'nobody', 'x' * 300)
        self.redis('SET', 'familyseer:worker:nobody', 'nonsense')
        self.redis('SADD', 'familyseer:tunings', 'nonsense', '0000000000000001')
        self.redis('SET', 'familyseer:tuning:0000000000000001', 'nonsense')

    def turn_clock(self):
        """Entries of an hour from now: what comes later has their numbers, as after a clock was set back."""
        for stream in self.redis('KEYS', 'familyseer:jobs:*').split() + self.redis('KEYS', 'familyseer:answers:*').split():
            self.redis('XADD', stream, f'{int(time.time() * 1000) + 3600000}-0', 'm', 'no letter')


def check_trials(events, n):
    """All trials are there, none twice."""
    expect(events[-1]['event'] == 'done', f'the last event is {events[-1]}')
    expect(events[-1]['trials'] == n, f'{events[-1]["trials"]} trials, not {n}')
    records = [e['record'] for e in events if e['event'] == 'measurement' and e.get('class') == 'ok']
    expect(len(set(records)) == len(records), 'a record was announced twice')


def every(n, actions):
    """-> on_event, which calls the next of `actions` at each n-th measurement, and what is left of them"""
    left = list(actions)

    def on_event(events):
        if left and sum(e['event'] == 'measurement' for e in events) >= n * (len(actions) - len(left) + 1):
            left.pop(0)()
    return on_event, left


def check_records(path):
    """A schedule of a task takes one time there, whoever has measured it, and however often."""
    db = sqlite3.connect(path)
    mixed = db.execute("SELECT workload, schedule, min(seconds), max(seconds) FROM measurement WHERE class = 'ok' AND raced = 0 "
                       "GROUP BY workload, schedule HAVING max(seconds) > min(seconds) * 1.000001").fetchall()
    n = db.execute("SELECT count(*) FROM measurement").fetchone()[0]
    db.close()
    expect(not mixed, f'{len(mixed)} schedules have several times: {mixed[:2]}')
    return n


def check_announced(path, events):
    """What was announced is in the records as it was announced, and once."""
    db = sqlite3.connect(path)
    there = {row[0]: row[1:] for row in db.execute("SELECT id, class, seconds FROM measurement")}
    db.close()
    runs = [e for e in events if e['event'] == 'measurement']
    expect(len({e['record'] for e in runs}) == len(runs), 'a record was announced twice')
    for e in runs:
        expect(there.get(e['record']) == (e['class'], e['seconds']), f'{e} is {there.get(e["record"])} in the records')


def check_own_times(path, wrong):
    """No time is another schedule's, and none was made up."""
    for nonsense in wrong:
        expect(not nonsense.failure, f'nonsense.py: {nonsense.failure}')
    db = sqlite3.connect(path)
    rows = db.execute("SELECT DISTINCT workload, schedule, seconds FROM measurement WHERE class = 'ok' AND round > 0").fetchall()
    db.close()
    seen = {}
    for workload, schedule, seconds in rows:
        other = seen.setdefault(seconds, (workload, schedule))
        expect(other == (workload, schedule), f'two schedules take {seconds} s: {other}, {(workload, schedule)}')
    told = seen.keys() & set().union(*(nonsense.told for nonsense in wrong))
    expect(not told, f'{told} are times that were made up')


def other_program(folder, own):
    """This one, with the hash of other sources in place of its own."""
    path = os.path.join(folder, 'other')
    if not os.path.exists(path):
        with open(PROGRAM, 'rb') as file:
            data = file.read()
        expect(len(own) == 16 and own.encode() in data, f'the program has not its own hash {own!r}')
        with open(path, 'wb') as file:
            file.write(data.replace(own.encode(), own[::-1].encode()))
        os.chmod(path, 0o755)
    return path


def name_of(worker):
    """As it says itself."""
    for _ in range(300):
        with open(worker.log.name) as log:
            for line in log:
                if ' serves ' in line:
                    return line.split('worker ')[1].split()[0]
        time.sleep(0.1)
    fail('a worker did not come up')


# ---- what befalls
FAULTS = ['worker', 'tuner', 'forgets', 'restarts', 'wiped', 'cut', 'clock', 'forged', 'wrong', 'silent', 'version']


class Run:
    """A tuning of three workers, and one fault after another."""

    def __init__(self, rng, args):
        self.rng, self.args = rng, args
        self.fleet = Fleet(keeps_data=True)
        path = os.path.join(self.fleet.folder, 'cut.sock')
        self.cut = Way(path, self.fleet.socket)
        self.url = f'unix://{path}'
        self.workers = [self.fleet.start_worker(url=self.url) for _ in range(3)]
        self.records = os.path.join(self.fleet.folder, 'r.sqlite')
        self.fleet.wait_for_workers(3)
        self.sources = self.fleet.workers()[0]['sources']
        self.wrong, self.others, self.silent = [], [], {}
        self.events, self.errors = [], []

    def close(self):
        for silent in self.silent.values():
            silent.is_over.set()
        self.fleet.close()

    def start_wrong_worker(self):
        """All of its answers are nonsense, or one in three."""
        nonsense = Nonsense(PASSWORD, random.Random(self.rng.random()), self.rng.choice([1, 0.3]))
        path = os.path.join(self.fleet.folder, f'wrong{len(self.wrong)}.sock')
        Way(path, self.cut.listener.getsockname(), nonsense.change)
        self.wrong.append(nonsense)
        self.fleet.start_worker(url=f'unix://{path}')

    def start_silent_worker(self):
        """As soon as one is there that it can be like."""
        for _ in range(300):
            models = [w['worker'] for w in self.fleet.workers() if w['sources'] == self.sources and w['worker'] not in self.silent]
            if models:
                break
            time.sleep(0.1)
        expect(models, 'there is no worker')
        silent = Silent(self.fleet.redis, PASSWORD, models[0], len(self.silent))
        self.silent[silent.name] = silent

    def start_other_version(self):
        """Of other sources; or a letter of messages of another form, which is all of a worker that others would see."""
        if self.rng.random() < 0.5:
            self.others.append(self.fleet.start_worker(url=self.url, program=other_program(self.fleet.folder, self.sources)))
        else:
            self.others.append(f'host:{len(self.others)}:0000cafe')
            self.fleet.redis('SADD', 'familyseer:workers', self.others[-1])
            self.announce(self.others[-1])

    def announce(self, name):
        place = f'familyseer:worker:{name}'
        self.fleet.redis('SET', place, data=seal(PASSWORD, place, WORKER, self.rng.randbytes(300), version=WIRE_VERSION - 1))

    def befall(self, fault):
        if fault == 'worker':
            k = self.rng.randrange(3)
            self.workers[k].kill()
            self.workers[k] = self.fleet.start_worker(url=self.url)
        elif fault == 'tuner':
            self.tuner.kill()  # `run` starts it again
        elif fault == 'forgets':
            self.fleet.restart_server(with_data=False)
        elif fault == 'restarts':
            self.fleet.restart_server(with_data=True)
        elif fault == 'wiped':
            self.fleet.redis('FLUSHALL')
        elif fault == 'cut':
            self.cut.is_cut.set()
            threading.Timer(self.args.cut, self.cut.is_cut.clear).start()
        elif fault == 'clock':
            self.fleet.turn_clock()
        elif fault == 'wrong':
            self.start_wrong_worker()
        elif fault == 'silent':
            self.start_silent_worker()
        elif fault == 'version':
            self.start_other_version()
        else:
            self.fleet.forge(self.rng.randrange(1 << 30))

    def tune(self, n, left, *more):
        """A tuner's life. -> its status"""
        self.tuner = self.fleet.start_tuning('--measure', 'fake', '--trials', str(n), '--records', self.records, '--fleet-wait',
                                             '120s', *more, url=self.url)
        for line in self.tuner.stdout:
            try:
                self.events.append(json.loads(line))
            except json.JSONDecodeError:  # the last one of a tuner that was killed may be half a line
                expect(self.tuner.wait() == -signal.SIGKILL, f'the tuner said {line!r}')
                break
            n_seen = sum(e['event'] == 'measurement' for e in self.events)
            while left and n_seen >= left[0][0]:
                self.befall(left.pop(0)[1])
        self.tuner.wait()
        self.tuner.reader.join()
        self.errors += self.tuner.errors
        return self.tuner.returncode

    def run(self, faults):
        """One tuning: `faults` at random numbers of its measurements. Ends by status 0 with all trials, and a library that is
        right."""
        n = self.args.trials
        moments = sorted(self.rng.randrange(10, n - 20) for _ in faults)
        left = list(zip(moments, faults))
        library = os.path.join(self.fleet.folder, 'library')
        status = -signal.SIGKILL
        while status == -signal.SIGKILL:
            status = self.tune(n, left, '-o', library)
        expect(status == 0, f'tune ended with {status} after {faults}:\n' + ''.join(self.errors[-20:]))
        expect(not left, f'{left} did not happen')
        done = [e for e in self.events if e['event'] == 'done']
        expect(len(done) == 1 and done[0]['trials'] == n, f'{done} after {faults}, not {n} trials')
        check_announced(self.records, self.events)
        check_own_times(self.records, self.wrong)
        out = subprocess.run([PROGRAM, 'verify', os.path.join(library, 'model.so'), 'squeezenet1_1'], capture_output=True, text=True)
        expect(out.returncode == 0, f'verify after {faults}: {out.stdout}{out.stderr}')
        if self.others:
            self.check_refusals()
        return check_records(self.records)

    def check_refusals(self):
        """Whoever is of another version had no round, `fleet` says what it is, and so does a tuning, of each."""
        names = [other if isinstance(other, str) else name_of(other) for other in self.others]
        for name in names:
            if name in self.others:  # the server may have forgotten it
                self.fleet.redis('SADD', 'familyseer:workers', name)
                self.announce(name)
        shown = self.wait_for_names(names)
        for name in names:
            expect(shown[name]['rounds'] == 0, f'a worker of another version has done something: {shown[name]}')
            expect(shown[name]['sources'] != self.sources, f'a worker of another version is shown as {shown[name]}')
        self.errors.clear()
        expect(self.tune(10, [], '--no-resume') == 0, 'a tuning beside workers of another version did not end well')
        for name in names:
            refusals = [line for line in self.errors if f'worker {name} gets nothing: it is of version' in line]
            expect(len(refusals) == 1, f'of worker {name} the tuner says: {"".join(self.errors[-20:])}')

    def wait_for_names(self, names):
        """-> what `fleet` shows, by name, when there is a worker that fits, too"""
        for _ in range(300):
            shown = {worker['worker']: worker for worker in self.fleet.workers()}
            if all(name in shown for name in names) and any(w['sources'] == self.sources for w in shown.values()):
                return shown
            time.sleep(0.1)
        fail(f'{names} are not all among {list(shown)}')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--each', type=int, default=20)
    parser.add_argument('--faults', default=','.join(FAULTS), help='which')
    parser.add_argument('--cut', type=float, default=20, help='seconds')
    parser.add_argument('--trials', type=int, default=200, help='of a tuning')
    parser.add_argument('--seed', type=int, default=random.randrange(1 << 30))
    args = parser.parse_args()
    print(f'seed {args.seed}', flush=True)
    rng = random.Random(args.seed)
    faults = args.faults.split(',') * args.each
    rng.shuffle(faults)
    count, told, n_tunings, n_out, start = {}, {}, 0, 0, time.monotonic()
    while faults:
        now, faults = faults[:3], faults[3:]
        run = Run(rng, args)
        try:
            n = run.run(now)
        finally:
            run.close()
        n_tunings += 1
        n_out += sum('it has jobs in hand, and no answer came' in line for line in run.errors)
        for nonsense in run.wrong:
            for kind, k in nonsense.count.items():
                told[kind] = told.get(kind, 0) + k
        for fault in now:
            count[fault] = count.get(fault, 0) + 1
        print(f'{", ".join(now)}: {n} records', flush=True)
    print(f'{n_tunings} tunings in {time.monotonic() - start:.0f} s: ' + ', '.join(f'{k} {v}' for k, v in sorted(count.items())) +
          '; nonsense: ' + ', '.join(f'{k} {v}' for k, v in sorted(told.items())) + f'; silent and left out: {n_out}')


if __name__ == '__main__':
    main()
