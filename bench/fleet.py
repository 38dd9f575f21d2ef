#!/usr/bin/env python3
"""How a tuning gets on with more workers: measurements a second of a fleet of 1, 2, 4, ... whose devices are made of
arithmetic and take 30 ms each (`worker --measure fake:delay=30ms`), over a redis-server of its own.

  bench/fleet.py                              1, 2, 4, 8, 16 workers, as near as a Unix socket
  bench/fleet.py --delay-ms 50 --stall 0.01   what goes to the broker takes 50 ms, what comes from there too, and a
                                              hundredth of the pieces waits 200 ms, as for a packet that is lost

Counted from the tuning's first round to the last measurement of its search: neither the start nor the finals. Linear is
what one worker does with nothing on the way. Also the tuner's share of a processor, and bytes by the broker a round.

  bench/fleet.py --real mobilenet_v2 --delay-ms 50 --stall 0.01 --turns 3

Real measurements of this machine's first two processors: a tuning with --devices cpu:0,cpu:1 and one by two workers of a
processor each that are as far as is said, in turns. A row a tuning: seconds until the first round, of the search, of the
finals (these three are the tuning), until the library is written, where a tuning of this machine holds it against the
untuned one and a fleet's has no machine to do so, and of all. Then the ratios of the medians, and of the libraries'
times, which take turns (`familyseer bench --compare`).
"""
import argparse, contextlib, json, os, random, shutil, signal, socket, statistics, subprocess, sys, tempfile, threading, time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Proxy:
    """A Unix socket in front of another one, each piece late."""

    def __init__(self, path, target, delay_s, stall):
        self.target, self.delay_s, self.stall = target, delay_s, stall
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(256)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            near, _ = self.listener.accept()
            far = socket.socket(socket.AF_UNIX)
            far.connect(self.target)
            for a, b in ((near, far), (far, near)):
                self.carry(a, b)

    def carry(self, source, sink):
        import queue
        pieces = queue.Queue()

        def read():
            while True:
                try:
                    data = source.recv(1 << 16)
                except OSError:
                    data = b''
                late = 0.2 if self.stall and random.random() < self.stall else 0
                pieces.put((time.monotonic() + self.delay_s + late, data))
                if not data:
                    return

        def write():
            while True:
                due, data = pieces.get()
                time.sleep(max(0, due - time.monotonic()))
                try:
                    if not data:
                        sink.shutdown(socket.SHUT_WR)
                        return
                    sink.sendall(data)
                except OSError:
                    return
        threading.Thread(target=read, daemon=True).start()
        threading.Thread(target=write, daemon=True).start()


def start_server(folder):
    path = os.path.join(folder, 'redis.sock')
    server = subprocess.Popen(['redis-server', '--port', '0', '--unixsocket', path, '--save', '', '--dir', folder],
                              stdout=subprocess.DEVNULL)
    for _ in range(100):
        if os.path.exists(path):
            return server, path
        time.sleep(0.05)
    sys.exit('redis-server did not start')


def cpu_s(pid):
    fields = open(f'/proc/{pid}/stat').read().rsplit(')', 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


@contextlib.contextmanager
def workers(args, url, flags):
    """One for each of these lists of flags, and they are there."""
    processes = [subprocess.Popen([args.program, 'worker', '--fleet', url, *own], stderr=subprocess.DEVNULL) for own in flags]
    try:
        while True:
            out = subprocess.run([args.program, 'fleet', url, '--json'], capture_output=True, text=True).stdout
            if len(out.splitlines()) >= len(flags):
                break
            time.sleep(0.2)
        yield
    finally:
        for process in processes:
            process.send_signal(signal.SIGTERM)
        for process in processes:
            process.wait()


def start_tuning(args, network, *flags):
    """-> the process, and lines of its stderr as they come"""
    command = [args.program, 'tune', network, *flags, '--json', '--no-resume']
    if args.round_size:
        command += ['--round-size', str(args.round_size)]
    tuner = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    errors = []
    threading.Thread(target=lambda: errors.extend(tuner.stderr), daemon=True).start()
    return tuner, errors


# ---- arithmetic
def tune(args, folder, url, n):
    """-> measurements a second, the tuner's share of a processor, bytes a round, seconds"""
    with workers(args, url, [['--measure', f'fake:delay={args.measure_ms}ms']] * n):
        tuner, errors = start_tuning(args, args.network, '--fleet', url, '--measure', 'fake', '--trials', str(args.trials * n),
                                     '--records', os.path.join(folder, f'{n}.sqlite'), '--log', 'measure:1', '--search-threads', '1')
        first = last = None
        count = 0
        cpu = [0, 0]
        for line in tuner.stdout:
            event = json.loads(line)
            if event['event'] == 'measurement':
                last = time.monotonic()
                count += 1
                cpu[1] = cpu_s(tuner.pid)
            elif event['event'] == 'round' and first is None:
                first, cpu[0] = time.monotonic(), cpu_s(tuner.pid)
        tuner.wait()
        time.sleep(0.1)
        traffic = [line for line in errors if 'by the broker' in line]
        n_bytes, n_jobs = (int(traffic[0].split()[k]) for k in (2, 8)) if traffic else (0, 1)
        seconds = last - first
        return count / seconds, (cpu[1] - cpu[0]) / seconds, n_bytes / max(n_jobs, 1), seconds


def compare_numbers(args, folder, url):
    args.trials = args.trials or 200
    linear = 1000 / args.measure_ms
    print('workers  a second  of linear  tuner  bytes a job  seconds', flush=True)
    for n in map(int, args.workers.split(',')):
        rate, share, n_bytes, seconds = tune(args, folder, url, n)
        print(f'{n:7d} {rate:9.1f} {rate / (n * linear):10.2f} {share:6.2f} {n_bytes:12.0f} {seconds:8.1f}', flush=True)


# ---- real measurements
DEVICES = ('cpu:0', 'cpu:1')
PHASES = ('start', 'search', 'finals', 'library')
SUMS = {'tuning': PHASES[:3], 'all': PHASES}


def tune_really(args, folder, *flags):
    """-> seconds of each phase, and their sums; its library is in `folder`"""
    start = time.monotonic()
    tuner, errors = start_tuning(args, args.real, '--threads', '1', '--trials', str(args.trials), *flags,
                                 '--records', os.path.join(folder, 'records.sqlite'), '-o', folder)
    at = {}
    for line in tuner.stdout:
        event = json.loads(line)
        if event['event'] in ('start', 'round'):
            at.setdefault(event['event'], time.monotonic())
        elif event['event'] == 'done':
            ended = at['start'] + event['elapsed_s']
            decided = ended - event['check_s']
    if tuner.wait():
        sys.exit(f'the tuning has failed: {"".join(errors)}')
    marks = [start, at['round'], decided, ended, time.monotonic()]
    seconds = dict(zip(PHASES, (b - a for a, b in zip(marks, marks[1:]))))
    return seconds | {name: sum(seconds[phase] for phase in phases) for name, phases in SUMS.items()}


def compare_real(args, folder, url):
    args.trials = args.trials or 600
    locks = [os.path.join(folder, f'lock{k}') for k in range(len(DEVICES))]
    ways = {'here': lambda out: tune_really(args, out, '--devices', ','.join(DEVICES)),
            'far': lambda out: tune_really(args, out, '--fleet', url)}
    rows = {way: [] for way in ways}
    ratios = []
    print('way   ' + ' '.join(f'{name:>8s}' for name in (*PHASES, *SUMS)), flush=True)
    for turn in range(args.turns):
        for way in sorted(ways, reverse=turn % 2 == 0):
            out = os.path.join(folder, f'{way}{turn}')
            os.makedirs(out)
            flags = [['--devices', device, '--device-lock', lock] for device, lock in zip(DEVICES, locks)]
            with workers(args, url, flags if way == 'far' else []):
                rows[way].append(ways[way](out))
            print(f'{way:5s} ' + ' '.join(f'{value:8.2f}' for value in rows[way][-1].values()), flush=True)
        far, here = (os.path.join(folder, f'{way}{turn}', 'model.so') for way in ('far', 'here'))
        command = [args.program, 'bench', far, '--compare', here, '--json', '--threads', '1']
        ratios.append(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)['ratio'])
    medians = {way: {key: statistics.median(row[key] for row in rows[way]) for key in rows[way][0]} for way in ways}
    print('ratio ' + ' '.join(f'{medians["far"][key] / medians["here"][key]:8.2f}' for key in medians['far']))
    print(f'libraries, time far over time here: {statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--program', default=os.path.join(ROOT, 'build', 'familyseer'))
    parser.add_argument('--network', default='mobilenet_v2')
    parser.add_argument('--workers', default='1,2,4,8,16')
    parser.add_argument('--trials', type=int, default=0, help='200 a worker; --real: 600 in all')
    parser.add_argument('--round-size', type=int, default=0)
    parser.add_argument('--measure-ms', type=float, default=30)
    parser.add_argument('--delay-ms', type=float, default=0)
    parser.add_argument('--stall', type=float, default=0)
    parser.add_argument('--real', metavar='MODEL')
    parser.add_argument('--turns', type=int, default=3)
    args = parser.parse_args()
    folder = tempfile.mkdtemp()
    server, path = start_server(folder)
    try:
        if args.delay_ms or args.stall:
            Proxy(os.path.join(folder, 'proxy.sock'), path, args.delay_ms / 1000, args.stall)
            path = os.path.join(folder, 'proxy.sock')
        if args.real:
            compare_real(args, folder, 'unix://' + path)
        else:
            compare_numbers(args, folder, 'unix://' + path)
    finally:
        server.terminate()
        server.wait()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == '__main__':
    main()
