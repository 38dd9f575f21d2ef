#!/usr/bin/env python3
# A fleet of three on a redis-server of its own: a tuning gets all its trials, each once, while workers die, the broker
# forgets everything and letters are forged; who has not the password, or another key, gets nothing.
# SEER_TEST: timeout=300
import json, os, random, shutil, signal, subprocess, sys, tempfile, threading, time

PROGRAM = os.path.abspath(os.environ.get('FAMILYSEER', 'build/familyseer'))
PASSWORD = 'open sesame/@'
folder = tempfile.mkdtemp()
socket = os.path.join(folder, 'redis.sock')
url = f'unix://{socket}'
env = dict(os.environ, SEER_FLEET_PASSWORD=PASSWORD, XDG_CACHE_HOME=folder)
processes = []


def fail(message):
    print('FAILED:', message)
    sys.exit(1)


def expect(what, message):
    if not what:
        fail(message)


def start_server():
    server = subprocess.Popen(['redis-server', '--port', '0', '--unixsocket', socket, '--save', '', '--dir', folder,
                               '--requirepass', PASSWORD], stdout=subprocess.DEVNULL)
    processes.append(server)
    for _ in range(200):
        if redis('PING').strip() == 'PONG':
            return server
        time.sleep(0.05)
    fail('redis-server did not start')


def redis(*words, data=None):
    return subprocess.run(['redis-cli', '-s', socket, '--no-auth-warning', '-a', PASSWORD, *words]
                          + (['-x'] if data is not None else []), input=data, capture_output=True).stdout.decode(errors='replace')


def start_worker(*flags, **more):
    worker = subprocess.Popen([PROGRAM, 'worker', '--fleet', url, '--measure', 'fake:delay=20ms', *flags], env=env,
                              stderr=open(os.path.join(folder, f'worker{len(processes)}.txt'), 'w'), **more)
    processes.append(worker)
    return worker


def workers():
    out = subprocess.run([PROGRAM, 'fleet', url, '--json'], env=env, capture_output=True, text=True)
    expect(out.returncode == 0, f'fleet --json: {out.stderr}')
    return [json.loads(line) for line in out.stdout.splitlines()]


def wait_for_workers(n):
    for _ in range(200):
        if len(workers()) == n:
            return
        time.sleep(0.1)
    fail(f'{len(workers())} workers, not {n}')


def tune(*flags, on_event=None, status=0, model='squeezenet1_1'):
    """-> events, stderr"""
    tuner = subprocess.Popen([PROGRAM, 'tune', model, '--fleet', url, '--json', '--no-resume', '--log', 'measure:1', *flags],
                             env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    processes.append(tuner)
    errors = []
    reader = threading.Thread(target=lambda: errors.extend(tuner.stderr), daemon=True)
    reader.start()
    events = []
    for line in tuner.stdout:
        events.append(json.loads(line))
        if on_event:
            on_event(events)
    tuner.wait()
    reader.join()
    if status is not None:
        expect(tuner.returncode == status, f'tune ended with {tuner.returncode}, not {status}:\n' + ''.join(errors[-20:]))
    return events, ''.join(errors)


def check_trials(events, n):
    """All trials are there, none twice."""
    measured = [e for e in events if e['event'] == 'measurement']
    new = [e for e in measured if e.get('class') == 'ok']
    expect(events[-1]['event'] == 'done', f'the last event is {events[-1]}')
    expect(events[-1]['trials'] == n, f'{events[-1]["trials"]} trials, not {n}')
    records = [e['record'] for e in new]
    expect(len(set(records)) == len(records), 'a record was announced twice')


def every(n, actions):
    """Calls the next of `actions` at each n-th measurement."""
    left = list(actions)

    def on_event(events):
        if left and sum(e['event'] == 'measurement' for e in events) >= n * (len(actions) - len(left) + 1):
            left.pop(0)()
    return on_event, left


def forge():
    """What is no letter, or is somebody else's, in every stream that there is."""
    rng = random.Random(1)
    for stream in redis('KEYS', 'familyseer:jobs:*').split() + redis('KEYS', 'familyseer:answers:*').split():
        for n in (0, 1, 31, 64, 300):
            redis('XADD', stream, '*', 'm', data=rng.randbytes(n))
        redis('XADD', stream, '*', 'a', 'b', 'c', 'd')
    redis('SADD', 'familyseer:workers', 'nobody', 'x' * 300)
    redis('SET', 'familyseer:worker:nobody', 'nonsense')
    redis('SADD', 'familyseer:tunings', 'nonsense', '0000000000000001')
    redis('SET', 'familyseer:tuning:0000000000000001', 'nonsense')


def main():
    server = [start_server()]

    # Without the password there is nothing, and no message shows one.
    for given in ('', 'wrong secret'):
        out = subprocess.run([PROGRAM, 'fleet', url], env=dict(env, SEER_FLEET_PASSWORD=given), capture_output=True, text=True)
        expect(out.returncode == 1 and out.stderr, f'fleet without the password: {out.returncode}')
        expect(PASSWORD not in out.stderr and 'wrong secret' not in out.stderr, f'a password is shown: {out.stderr}')
    out = subprocess.run([PROGRAM, 'fleet', 'http://host'], env=env, capture_output=True, text=True)
    expect(out.returncode == 1 and 'redis://' in out.stderr, out.stderr)

    # Nobody there; then one with another key, which is as good as nobody.
    _, errors = tune('--measure', 'fake', '--trials', '10', '--fleet-wait', '1s', status=1)
    expect('no worker at' in errors, errors)
    key = os.path.join(folder, 'key')
    open(key, 'w').write('another secret')
    stranger = start_worker('--fleet-key', key)
    time.sleep(2)
    _, errors = tune('--measure', 'fake', '--trials', '10', '--fleet-wait', '1s', status=1)
    expect('another key' in errors, errors)
    # One of another target, and one that measures otherwise, say so at the tuner.
    stranger.terminate()
    expect(stranger.wait(20) == 0, 'a worker did not end well')
    other = start_worker('--threads', '1', '--target', 'x86_64-linux-gnu -cpu=x86-64-v2')
    wait_for_workers(1)
    _, errors = tune('--measure', 'fake', '--trials', '10', '--fleet-wait', '1s', '--target',
                     'x86_64-linux-gnu -cpu=x86-64-v3', status=1)
    expect('works for target' in errors, errors)
    other.terminate()

    # Three, while one dies, letters are forged and the broker forgets everything.
    three = [start_worker() for _ in range(3)]
    wait_for_workers(3)
    records = os.path.join(folder, 'r.sqlite')
    on_event, left = every(60, [three[0].kill, forge, lambda: redis('FLUSHALL'), three[1].terminate])
    events, errors = tune('--measure', 'fake', '--trials', '360', '--records', records, on_event=on_event)
    expect(not left, f'{len(left)} faults were not made')
    check_trials(events, 360)
    expect(three[1].wait(30) == 0, 'a worker that was told to end did not end well')
    expect('by the broker' in errors, errors)

    # A server that is restarted without its data, and one that is gone for good.
    three[0], three[1] = start_worker(), start_worker()
    wait_for_workers(3)

    def restart():
        server[0].kill()
        server[0].wait()
        server[0] = start_server()
    on_event, left = every(60, [restart])
    events, errors = tune('--measure', 'fake', '--trials', '200', '--records', records, on_event=on_event)
    expect(not left, 'the server was not restarted')
    check_trials(events, 200)
    on_event, left = every(40, [lambda: server[0].kill()])
    events, errors = tune('--measure', 'fake', '--trials', '5000', '--records', records, '--fleet-wait', '2s',
                          on_event=on_event, status=1)
    expect('--fleet-wait' in errors, errors)
    server[0].wait()
    for worker in three:
        worker.terminate()
        expect(worker.wait(60) == 0, 'a worker did not end well')

    # A worker that measures: a library of what it has timed.
    server[0] = start_server()
    start_worker('--measure', 'local', '--device-lock', os.path.join(folder, 'lock'))
    wait_for_workers(1)
    library = os.path.join(folder, 'library')
    events, errors = tune('--trials', '24', '--records', os.path.join(folder, 'real.sqlite'), '-o', library, model='mlp')
    check_trials(events, 24)
    out = subprocess.run([PROGRAM, 'verify', os.path.join(library, 'model.so'), 'mlp'], env=env, capture_output=True, text=True)
    expect(out.returncode == 0, f'verify: {out.stdout}{out.stderr}')


try:
    main()
    print('ok')
finally:
    for process in processes:
        if process.poll() is None:
            process.kill()
            process.wait()
    shutil.rmtree(folder, ignore_errors=True)
