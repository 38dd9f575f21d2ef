#!/usr/bin/env python3
"""How a tuning gets on with more workers: measurements a second of a fleet of 1, 2, 4, ... whose devices are made of
arithmetic and take 30 ms each (`worker --measure fake:delay=30ms`), over a redis-server of its own.

  bench/fleet.py                              1, 2, 4, 8, 16 workers, as near as a Unix socket
  bench/fleet.py --delay-ms 50 --stall 0.01   what goes to the broker takes 50 ms, what comes from there too, and a
                                              hundredth of the pieces waits 200 ms, as for a packet that is lost

Counted from the tuning's first round to the last measurement of its search: neither the start nor the finals. Linear is
what one worker does with nothing on the way. Also the tuner's share of a processor, and bytes by the broker a round.
"""
import argparse, json, os, random, shutil, signal, socket, subprocess, sys, tempfile, threading, time

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


def tune(args, folder, url, n):
    """-> measurements a second, the tuner's share of a processor, bytes a round, seconds"""
    workers = [subprocess.Popen([args.program, 'worker', '--fleet', url, '--measure', f'fake:delay={args.measure_ms}ms'],
                                stderr=subprocess.DEVNULL) for _ in range(n)]
    try:
        while True:
            out = subprocess.run([args.program, 'fleet', url, '--json'], capture_output=True, text=True).stdout
            if len(out.splitlines()) >= n:
                break
            time.sleep(0.2)
        command = [args.program, 'tune', args.network, '--fleet', url, '--measure', 'fake', '--trials',
                   str(args.trials * n), '--records', os.path.join(folder, f'{n}.sqlite'), '--json', '--no-resume',
                   '--log', 'measure:1', '--search-threads', '1']
        if args.round_size:
            command += ['--round-size', str(args.round_size)]
        tuner = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        errors = []
        threading.Thread(target=lambda: errors.extend(tuner.stderr), daemon=True).start()
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
    finally:
        for worker in workers:
            worker.send_signal(signal.SIGTERM)
        for worker in workers:
            worker.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--program', default=os.path.join(ROOT, 'build', 'familyseer'))
    parser.add_argument('--network', default='mobilenet_v2')
    parser.add_argument('--workers', default='1,2,4,8,16')
    parser.add_argument('--trials', type=int, default=200, help='a worker')
    parser.add_argument('--round-size', type=int, default=0)
    parser.add_argument('--measure-ms', type=float, default=30)
    parser.add_argument('--delay-ms', type=float, default=0)
    parser.add_argument('--stall', type=float, default=0)
    args = parser.parse_args()
    folder = tempfile.mkdtemp()
    server, path = start_server(folder)
    try:
        if args.delay_ms or args.stall:
            Proxy(os.path.join(folder, 'proxy.sock'), path, args.delay_ms / 1000, args.stall)
            path = os.path.join(folder, 'proxy.sock')
        linear = 1000 / args.measure_ms
        print('workers  a second  of linear  tuner  bytes a job  seconds', flush=True)
        for n in map(int, args.workers.split(',')):
            rate, share, n_bytes, seconds = tune(args, folder, 'unix://' + path, n)
            print(f'{n:7d} {rate:9.1f} {rate / (n * linear):10.2f} {share:6.2f} {n_bytes:12.0f} {seconds:8.1f}', flush=True)
    finally:
        server.terminate()
        server.wait()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == '__main__':
    main()
