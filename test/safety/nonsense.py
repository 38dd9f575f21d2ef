"""Workers of a fleet gone wrong. One answers nonsense: between a real one and its broker stands somebody who has the password, opens its answers,
puts nonsense in and seals them again. All else of it is as it must be: it takes rounds, vouches for them, has its share.

Another one is silent: it is there, takes rounds, vouches for them, and never answers.

What is here of letters is what fleet/letter.h and wire/wire.h say of them, once more.
"""
import ctypes
import ctypes.util
import hashlib
import hmac
import math
import random
import socket
import struct
import threading
import time

FRAME, SEAL = 32, 32
WIRE_VERSION, WORKER, ANSWER = 7, 13, 15  # wire.h
COMPARE, OK = 2, 0  # a kind of job, of a result

_xxhash = ctypes.CDLL(ctypes.util.find_library('xxhash'))
_xxhash.XXH3_64bits.restype = ctypes.c_uint64
_xxhash.XXH3_64bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]


def seal(password, place, kind, payload, version=WIRE_VERSION, is_damaged=False):
    """A letter: frame, payload, seal. is_damaged: the frame says of another payload."""
    digest = _xxhash.XXH3_64bits(payload, len(payload)) ^ is_damaged
    data = b'SEER' + struct.pack('<HHIIQQ', version, kind, 0, 0, len(payload), digest) + payload
    key = hashlib.sha256(password.encode()).digest()
    return data + hmac.digest(key, place.encode() + b'\0' + data, 'sha256')


# ---- answers
class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def get(self, form):
        out = struct.unpack_from('<' + form, self.data, self.at)
        self.at += struct.calcsize('<' + form)
        return out if len(out) > 1 else out[0]

    def text(self):
        n = self.get('Q')
        self.at += n
        return self.data[self.at - n:self.at]


def text(data):
    return struct.pack('<Q', len(data)) + data


def read_answer(payload):
    r = Reader(payload)
    a = dict(zip(('session', 'number', 'attempt', 'asked'), r.get('QQIQ')), worker=r.text(), lost=r.text(), results=[], pairs=[])
    if a['lost']:
        return a
    a['kind'] = r.get('I')
    if a['kind'] == COMPARE:
        a['class'], a['message'], a['n'], a['n_pairs'] = r.get('I'), r.text(), *r.get('II')
        a['pairs'] = [list(r.get('dd')) for _ in range(a['n'] * a['n_pairs'])]
    else:
        for _ in range(r.get('I')):
            one = {'class': r.get('I'), 'message': r.text()}
            one['raced'], one['seconds'], one['run_s'], n = r.get('IddI')
            one['samples'] = [r.get('d') for _ in range(n)]
            one['twin'], one['device'], one['build_s'] = r.get('IId')
            a['results'].append(one)
    assert r.at == len(payload), f'an answer of {len(payload)} bytes, {r.at} were read: letter.h has changed'
    return a


def print_answer(a):
    out = struct.pack('<QQIQ', a['session'], a['number'], a['attempt'], a['asked']) + text(a['worker']) + text(a['lost'])
    if a['lost']:
        return out
    out += struct.pack('<I', a['kind'])
    if a['kind'] == COMPARE and 'n_pairs' in a:
        out += struct.pack('<I', a['class']) + text(a['message']) + struct.pack('<II', a['n'], a['n_pairs'])
        return out + b''.join(struct.pack('<dd', *pair) for pair in a['pairs'])
    out += struct.pack('<I', len(a['results']))
    for one in a['results']:
        out += struct.pack('<I', one['class']) + text(one['message'])
        out += struct.pack('<IddI', one['raced'], one['seconds'], one['run_s'], len(one['samples']))
        out += b''.join(struct.pack('<d', s) for s in one['samples']) + struct.pack('<IId', one['twin'], one['device'], one['build_s'])
    return out


# ---- nonsense
TIMES = [math.nan, math.inf, -math.inf, -1.0, 0.0, 1e-300, 1e-12, 1e9, 1e300]
KINDS = ['cut', 'long', 'chance', 'frame', 'unsealed', 'time', 'mean', 'count', 'number', 'session', 'old', 'kind', 'class', 'lost']


class Nonsense:
    """Makes it of good answers. `told`: times that it has made up; `count`: how often it told which; `failure`: an answer that it
    could not read, which is the test's to fail by: the worker would try without end."""

    def __init__(self, password, rng, share=1.0):
        self.password, self.rng, self.share = password, rng, share
        self.told, self.count, self.before, self.failure = set(), {}, [], None

    def change(self, words):
        """A command of the worker's, as it goes on."""
        try:
            return self.change_answer(words)
        except Exception as error:
            self.failure = repr(error)
            return words

    def change_answer(self, words):
        if words[0] != b'XADD' or not words[1].startswith(b'familyseer:answers:'):
            return words
        payload = words[-1][FRAME:-SEAL]
        assert seal(self.password, words[1].decode(), ANSWER, payload) == words[-1], 'letters are sealed in another way'
        answer = read_answer(payload)
        kind = self.rng.choice(KINDS) if self.rng.random() < self.share else None
        changed = self.make(kind, answer, payload) if kind else None
        self.before.append(answer)
        if changed is None or changed == payload and kind not in ('frame', 'unsealed'):
            return words
        self.count[kind] = self.count.get(kind, 0) + 1
        password = 'another' if kind == 'unsealed' else self.password
        return words[:-1] + [seal(password, words[1].decode(), ANSWER, changed, is_damaged=kind == 'frame')]

    def made_up(self, seconds):
        self.told.add(seconds)
        return seconds

    def make(self, kind, answer, payload):
        """None: there is none of that kind for this answer."""
        rng = self.rng
        if kind == 'cut':
            return payload[:rng.randrange(len(payload))]
        if kind == 'long':
            return payload + rng.randbytes(rng.randrange(1, 99))
        if kind == 'chance':
            return rng.randbytes(len(payload))
        if kind in ('frame', 'unsealed'):
            return payload
        a = dict(answer, results=[dict(one) for one in answer['results']], pairs=[list(pair) for pair in answer['pairs']])
        timed = [one for one in a['results'] if one['class'] == OK and one['samples']]
        if kind == 'number':
            a['number'] = rng.choice([0, 1 << 63, *(max(0, a['number'] + d) for d in (-3, -2, -1, 1, 2, 3))])
        elif kind == 'session':
            a['session'] ^= 1 << rng.randrange(64)
        elif kind == 'old':
            others = [b for b in self.before if b['asked'] != a['asked']]
            a = dict(rng.choice(others), number=a['number']) if others else None
        elif a['lost']:
            return None
        elif kind == 'lost':
            a['lost'] = b'it cannot be done'
        elif kind == 'kind':
            a['kind'] = rng.choice([k for k in (0, 1, 2, 3, 1 << 31) if k != a['kind']])
        elif kind == 'class' and a['results']:
            rng.choice(a['results'])['class'] = rng.choice([7, 99, 1 << 31])
        elif kind == 'count' and a['results']:
            a['results'] = rng.choice([[], a['results'][:-1], a['results'] + a['results'][-1:]])
        elif kind == 'count':
            a['pairs'] = a['pairs'][:-1]
        elif kind == 'mean' and timed:
            one = rng.choice(timed)
            one['seconds'] = self.made_up(one['seconds'] * rng.choice([0.1, 0.5, 0.9, 1.1, 2.0, 10.0]))
        elif kind == 'time' and timed:
            seconds = self.made_up(rng.choice(TIMES))
            for one in rng.sample(timed, rng.randrange(1, len(timed) + 1)):
                one['seconds'], one['samples'] = seconds, [seconds] * len(one['samples'])
        elif kind == 'time' and a['pairs']:
            rng.choice(a['pairs'])[rng.randrange(2)] = self.made_up(rng.choice(TIMES))
        else:
            return None
        return a and print_answer(a)


class Silent:
    """Like the worker `model`, as the broker knows it, but for its name and its limits: a build and a run have a tenth of a second.
    `redis` is Fleet.redis; `n_taken`: jobs that it has had."""
    BUILD_S, RUN_S = 15.0, 10.02  # the model's
    AT_ONCE = 2

    def __init__(self, redis, password, model, number=0):
        self.redis, self.model, self.n_taken, self.held, self.is_over = redis, model, 0, [], threading.Event()
        self.name = f'{model[:-8]}dead{number:04x}'
        self.place = f'familyseer:worker:{self.name}'
        letter = bytes.fromhex(redis('EVAL', "return (redis.call('GET', KEYS[1]):gsub('.', function (c) return "
                                     "string.format('%02x', string.byte(c)) end))", '1', f'familyseer:worker:{model}').strip())
        payload, own = letter[FRAME:-SEAL], struct.pack('<dd', self.BUILD_S, self.RUN_S)
        assert payload.count(own) == 1 and payload.count(model.encode()) == 1, "a worker's letter has changed"
        payload = payload.replace(own, struct.pack('<dd', 0.1, 0.1)).replace(model.encode(), self.name.encode())
        self.letter = seal(password, self.place, WORKER, payload)
        self.step()
        threading.Thread(target=self.live, daemon=True).start()

    def live(self):
        while not self.is_over.wait(0.5):
            self.step()

    def step(self):
        self.redis('SET', self.place, data=self.letter)
        self.redis('SADD', 'familyseer:workers', self.name)
        for session in self.redis('SMEMBERS', 'familyseer:tunings').split():
            common = f'familyseer:jobs:{session}'
            for stream in (f'{common}:{self.name}', common):
                held = [at for where, at in self.held if where == stream]
                if held:
                    self.redis('XCLAIM', stream, 'workers', self.name, '0', *held, 'JUSTID')
                if len(held) < self.AT_ONCE:
                    taken = self.redis('EVAL', "local r = redis.call('XREADGROUP', 'GROUP', 'workers', ARGV[1], 'COUNT', 1, 'STREAMS', "
                                       "KEYS[1], '>') return r and r[1][2][1][1] or ''", '1', stream, self.name).strip()
                    if taken and taken[0].isdigit():
                        self.held.append((stream, taken))
                        self.n_taken += 1


# ---- the way to the broker
class Way:
    """A socket in front of the broker's. Nothing passes while `is_cut`; `change` makes a command of a command."""

    def __init__(self, path, target, change=None):
        self.target, self.change, self.is_cut = target, change, threading.Event()
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
            for a, b, change in ((near, far, self.change), (far, near, None)):
                threading.Thread(target=self.carry, args=(a, b, change), daemon=True).start()

    def carry(self, source, sink, change):
        left = b''
        try:
            while data := source.recv(1 << 16):
                while self.is_cut.is_set():
                    time.sleep(0.05)
                if change:
                    commands, left = split(left + data)
                    data = b''.join(join(change(words)) for words in commands)
                sink.sendall(data)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def split(data):
    """-> the commands that are whole, and what is left of it."""
    commands, at = [], 0
    while True:
        words, end = [], data.find(b'\r\n', at)
        n = int(data[at + 1:end]) if end >= 0 else 1
        start = end + 2
        while end >= 0 and len(words) < n:
            end = data.find(b'\r\n', start)
            n_bytes = int(data[start + 1:end]) if end >= 0 else 0
            if end < 0 or len(data) < end + 2 + n_bytes + 2:
                end = -1
                break
            words.append(data[end + 2:end + 2 + n_bytes])
            start = end + 2 + n_bytes + 2
        if end < 0:
            return commands, data[at:]
        commands.append(words)
        at = start


def join(words):
    return b'*%d\r\n' % len(words) + b''.join(b'$%d\r\n%s\r\n' % (len(word), word) for word in words)
