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
  nonsense  what is no letter, and old letters once more, in all streams

Each tuning has to end with status 0 and all its trials. Times are arithmetic (`--measure fake`), so each record is held
against what the schedule takes there: nothing is mixed up, counted twice or lost.
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
        command = ['redis-cli', '-s', self.socket, '--no-auth-warning', '-a', PASSWORD, *words] + (['-x'] if data is not None else [])
        return subprocess.run(command, input=data, capture_output=True).stdout.decode(errors='replace')

    def start_worker(self, *flags, url=None, is_service=False):
        """is_service: told by its environment alone which fleet is meant, as a service is."""
        log = open(os.path.join(self.folder, f'worker{len(self.processes)}.txt'), 'w')
        where = [] if is_service else ['--fleet', url or self.url]
        env = dict(self.env, SEER_FLEET=url or self.url) if is_service else self.env
        worker = subprocess.Popen([PROGRAM, 'worker', *where, '--measure', 'fake:delay=20ms', *flags], env=env, stderr=log)
        worker.log = log
        self.processes.append(worker)
        return worker

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


# ---- what befalls
FAULTS = ['worker', 'tuner', 'forgets', 'restarts', 'wiped', 'cut', 'clock', 'nonsense']


class Cut:
    """A socket in front of the broker's, through which nothing passes while `is_cut`."""

    def __init__(self, path, target):
        self.target, self.is_cut = target, threading.Event()
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(64)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            near, _ = self.listener.accept()
            far = socket.socket(socket.AF_UNIX)
            try:
                far.connect(self.target)
            except OSError:
                near.close()
                continue
            for a, b in ((near, far), (far, near)):
                threading.Thread(target=self.carry, args=(a, b), daemon=True).start()

    def carry(self, source, sink):
        try:
            while data := source.recv(1 << 16):
                while self.is_cut.is_set():
                    time.sleep(0.05)
                sink.sendall(data)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


class Run:
    """A tuning of three workers, and one fault after another."""

    def __init__(self, rng, args):
        self.rng, self.args = rng, args
        self.fleet = Fleet(keeps_data=True)
        path = os.path.join(self.fleet.folder, 'cut.sock')
        self.cut = Cut(path, self.fleet.socket)
        self.url = f'unix://{path}'
        self.workers = [self.fleet.start_worker(url=self.url) for _ in range(3)]
        self.records = os.path.join(self.fleet.folder, 'r.sqlite')

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
        else:
            self.fleet.forge(self.rng.randrange(1 << 30))

    def run(self, faults):
        """One tuning: `faults` at random numbers of its measurements. Ends by status 0 with all trials."""
        n = self.args.trials
        moments = sorted(self.rng.randrange(10, n - 20) for _ in faults)
        left = list(zip(moments, faults))
        n_seen, status = 0, None
        while status is None:
            self.tuner = self.fleet.start_tuning('--measure', 'fake', '--trials', str(n), '--records', self.records, '--fleet-wait',
                                                 '120s', url=self.url)
            for line in self.tuner.stdout:
                n_seen += json.loads(line)['event'] == 'measurement'
                while left and n_seen >= left[0][0]:
                    self.befall(left.pop(0)[1])
            self.tuner.wait()
            if self.tuner.returncode == -signal.SIGKILL:
                continue
            status = self.tuner.returncode
        self.tuner.reader.join()
        expect(status == 0, f'tune ended with {status} after {faults}:\n' + ''.join(self.tuner.errors[-20:]))
        expect(not left, f'{left} did not happen')
        return check_records(self.records)


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
    count, n_tunings, start = {}, 0, time.monotonic()
    while faults:
        now, faults = faults[:3], faults[3:]
        run = Run(rng, args)
        try:
            n = run.run(now)
        finally:
            run.fleet.close()
        n_tunings += 1
        for fault in now:
            count[fault] = count.get(fault, 0) + 1
        print(f'{", ".join(now)}: {n} records', flush=True)
    print(f'{n_tunings} tunings in {time.monotonic() - start:.0f} s: ' + ', '.join(f'{k} {v}' for k, v in sorted(count.items())))


if __name__ == '__main__':
    main()
