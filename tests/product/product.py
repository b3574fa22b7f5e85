# SPDX-License-Identifier: Apache-2.0
"""What the tests of the product share: processes that are ended by their own handle, and checks."""
import http.client
import json
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / 'docs' / 'demo'))

from stage import Failure, Process, wait_for  # noqa: E402

__all__ = ['Failure', 'LocalConnection', 'Process', 'SOURCE', 'Test', 'admin_page', 'ask', 'check', 'main', 'need_descriptors', 'wait_for']

PATIENCE_S = 20
SKIPPED = 77  # for Meson


class LocalConnection(http.client.HTTPConnection):
    """HTTP by a unix socket."""

    def __init__(self, path):
        super().__init__('localhost', timeout=PATIENCE_S)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self.path))


def ask(connection, path, method='GET', body=None, headers=None):
    """(status, text, headers)"""
    connection.request(method, path, body, headers or {})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text, answer.headers


def admin_page(node, path, *more, **fields):
    """Of a page of this udpad, by the socket in its data."""
    line = node.wait_for_log('admin socket unix:')
    return ask(LocalConnection(re.search(r'unix:(\S+)', line)[1]), path, *more, **fields)


class Skipped(Exception):
    """Something that the test needs is not there."""


def check(what, condition, shown=''):
    if not condition:
        raise Failure(f'{what}: {shown}')
    print(f'ok: {what}', flush=True)


class Test:
    """A run: a directory of its own, and what was started."""

    def __init__(self, arguments, work):
        self.arguments = arguments
        self.build = arguments.build.resolve()
        self.work = work
        self.processes = []

    def start(self, name, command):
        process = Process([str(part) for part in command], self.work / f'{name}.log')
        self.processes.append(process)
        return process

    def start_node(self, name='node', *more):
        """udpad on a port of its own; (process, address)."""
        node = self.start(name, [self.build / 'udpad', '--listen', '127.0.0.1:0', '--node-id', name,
                                 '--state', self.work / f'{name}-data', *more])
        line = node.wait_for_log('listening on ')
        return node, re.search(r'listening on (\S+)', line).group(1)

    def start_below(self, name, config, above, types):
        """udpad with this configuration, that takes these types from the node above it, if there is
        one; (process, address)."""
        whole = {'sockets': [{'address': '127.0.0.1:0'}], **config}
        if above:
            whole['static_resources'] = {
                'config_sources': [{'name': 'above', 'udpa': {'address': above}}]}
            whole['providers'] = [{'types': types,
                                   'config_descriptors': [{'resource_name': 'above'}]}]
        file = self.work / f'{name}.json'
        file.write_text(json.dumps(whole), encoding='utf-8')
        process = self.start(name, [self.build / 'udpad', '-c', file])
        line = process.wait_for_log('listening on ')
        return process, re.search(r'listening on ([^\s,]+)', line).group(1)

    def interrupt(self, process, number=signal.SIGINT):
        """Ends a process as a user does, and gives its exit status."""
        process.process.send_signal(number)
        try:
            return process.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            raise Failure(f'{process.log.name} did not end within {PATIENCE_S} s') from None

    def end(self):
        for process in self.processes:
            process.kill()


def need_descriptors(test):
    """Skips the test if a node of this build does not know the types of Envoy."""
    if not (test.build / 'envoy-v3.descriptors').exists():
        raise Skipped(f'{test.build} has no envoy-v3.descriptors '
                      '(src/codec/make-envoy-descriptors)')


def main(parser, body, variants=('',)):
    """Runs body(test); 1: it has failed, and its files are kept; 77: it was skipped. Of a test with
    variants, test.arguments.variant is the one to run, the first if none is named."""
    parser.add_argument('--build', type=pathlib.Path, default=SOURCE / 'build')
    parser.add_argument('variant', nargs='?', choices=variants, default=variants[0])
    arguments = parser.parse_args()
    work = pathlib.Path(tempfile.mkdtemp(prefix='udpa-product-'))
    test = Test(arguments, work)
    status = 0
    try:
        body(test)
    except Skipped as skipped:
        print(f'skipped: {skipped}', flush=True)
        status = SKIPPED
    except Failure as failure:
        print(f'failed: {failure}\nFiles and logs are in {work}.', flush=True)
        return 1
    finally:
        test.end()
    shutil.rmtree(work)
    return status
