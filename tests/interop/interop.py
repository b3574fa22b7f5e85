# SPDX-License-Identifier: Apache-2.0
"""What the tests with real peers share: how a test begins and ends, and udpad as a process.

Peers that cannot be had make a test skip, visibly; with UDPA_REQUIRE_PEERS=1 they make it fail.

To import this comes first in a test: the import goes on in the Python of .ci/venv, which has the
packages that the other modules of this folder import.
"""
import argparse
import importlib.util
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / 'docs' / 'demo'))

from stage import Failure, Process, alone, find_envoy, free_ports, wait_for  # noqa: E402

SKIPPED = 77
STOP_PATIENCE_S = 20
# A sanitizer says so in the log; its exit status alone might be lost behind a signal.
SANITIZER_MARKS = ('ERROR: AddressSanitizer', 'ERROR: LeakSanitizer', 'runtime error:',
                   'WARNING: ThreadSanitizer')

__all__ = ['Failure', 'Node', 'Process', 'SOURCE', 'alone', 'check', 'envoy_or_skip', 'free_ports',
           'go_or_skip', 'go_program_or_skip', 'is_instrumented', 'never', 'run', 'wait_for']


def skip(reason):
    """Ends the test: a peer is missing."""
    required = os.environ.get('UDPA_REQUIRE_PEERS') == '1'
    print(f'{"failed" if required else "skipped"}: {reason}', flush=True)
    sys.exit(1 if required else SKIPPED)


def has_packages():
    """Without importing them: that takes time, and not each test needs all."""
    try:
        return all(importlib.util.find_spec(name)
                   for name in ('grpc', 'httpx', 'envoy.config.cluster.v3.cluster_pb2'))
    except ModuleNotFoundError:
        return False


def enter_venv():
    """Goes on in the Python that has the packages of .ci/python-packages."""
    if has_packages():
        return
    if os.environ.get('UDPA_INTEROP_VENV') == '1':
        skip('the virtual environment of .ci/venv lacks a package of .ci/python-packages')
    made = subprocess.run([SOURCE / '.ci' / 'venv'], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        skip(f'the Python packages cannot be installed: {made.stderr.strip()[-300:]}')
    os.environ['UDPA_INTEROP_VENV'] = '1'
    python = made.stdout.strip()
    os.execv(python, [python, *sys.argv])


enter_venv()


def envoy_or_skip():
    try:
        return find_envoy()
    except (subprocess.CalledProcessError, OSError, StopIteration) as error:
        skip(f'Envoy cannot be installed: {error}')


def go_or_skip():
    found = subprocess.run([SOURCE / '.ci' / 'go'], capture_output=True, text=True, check=False)
    if found.returncode != 0:
        skip(f'there is no Go that is new enough: {found.stderr.strip()[-600:]}')
    return found.stdout.strip()


def go_program_or_skip(folder, out, package='.'):
    """Builds a program of the Go module of this folder; once more if that fails, for what is fetched
    for it may come the second time."""
    go = go_or_skip()
    with alone('go-program'):
        for _ in range(2):
            built = subprocess.run([go, 'build', '-p', '1', '-o', out, package], cwd=folder, text=True,
                                   capture_output=True, check=False,
                                   env={**os.environ, 'GOTOOLCHAIN': 'local',
                                        'GOFLAGS': '-mod=readonly'})
            if built.returncode == 0:
                break
    if built.returncode != 0:
        skip(f'{folder.relative_to(SOURCE)} cannot be built: {built.stderr.strip()[-600:]}')
    return out


def is_instrumented(build):
    """Sanitizers take memory of their own."""
    options = json.loads((build / 'meson-info' / 'intro-buildoptions.json').read_text())
    return next(one['value'] for one in options if one['name'] == 'b_sanitize') != 'none'


def check(what, condition):
    if not condition:
        raise Failure(what)
    print(f'ok: {what}', flush=True)


def never(what, look, seconds):
    """Looks again and again for that long: look() must stay false."""
    try:
        found = wait_for(what, look, seconds)
    except Failure:
        print(f'ok: not within {seconds} s: {what}', flush=True)
        return
    raise Failure(f'{what}: {found}')


class Node(Process):
    """udpad. Its state is kept in a directory of its name, so it can be started again."""
    end_signal = signal.SIGINT  # SIGTERM would drain it

    def __init__(self, test, name, port=0, bootstrap=None):
        self.name = name
        command = [test.build / 'udpad', '--node-id', name, '--state', test.work / f'{name}-data']
        if port is not None: # else the bootstrap file says where
            command += ['--listen', f'127.0.0.1:{port}']
        if bootstrap:
            command += ['-c', bootstrap]
        super().__init__(command, test.work / f'{name}.log')
        test.processes.append(self)
        line = self.wait_for_log('listening on ')
        self.address = line.split('listening on ')[1].split()[0]
        self.port = int(self.address.rsplit(':', 1)[1])

    def stop(self):
        """As an operator does; a sanitizer that found something fails the test."""
        if self.process.poll() is None:
            self.process.send_signal(self.end_signal)
            try:
                self.process.wait(STOP_PATIENCE_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                raise Failure(f'{self.name} did not end within {STOP_PATIENCE_S} s of {self.end_signal.name}')
        text = self.text()
        if self.process.returncode not in (0, -signal.SIGKILL) or \
                any(mark in text for mark in SANITIZER_MARKS):
            raise Failure(f'{self.name} ended with status {self.process.returncode}: '
                          f'{text[-2000:]}')


def with_grpc_core(build, work):
    """The same build, but for a udpad whose sockets are served by gRPC's C library."""
    made = work / 'build'
    made.mkdir()
    for path in build.iterdir():
        if path.name != 'udpad':
            (made / path.name).symlink_to(path)
    udpad = made / 'udpad'
    udpad.write_text(f'#!/bin/sh\nexec {build}/udpad --transport grpc_core "$@"\n', encoding='utf-8')
    udpad.chmod(0o755)
    return made


class Test:
    """One run: its directory, its arguments, and the processes it started."""

    def __init__(self, arguments, work):
        self.arguments = arguments
        self.build = arguments.build.resolve()
        self.work = work
        if os.environ.get('UDPA_TEST_GRPC_CORE'):
            self.build = with_grpc_core(self.build, work)
        self.variant = getattr(arguments, 'variant', '')
        self.processes = []

    def issue(self, *names):
        """The folder with a certificate for each name, and with its authority."""
        folder = self.work / 'certificates'
        for name in names:
            subprocess.run([SOURCE / 'certs' / 'make-development-ca', folder, name], check=True,
                           stdout=subprocess.DEVNULL)
        return folder

    def end(self):
        """Every peer first, so that nodes meet ends of streams; then the nodes, in good order."""
        for process in self.processes:
            if not isinstance(process, Node):
                process.kill()
        for process in self.processes:
            if isinstance(process, Node):
                process.stop()

    def kill_all(self):
        for process in self.processes:
            process.kill()


def run(description, body, variants=('',), options=()):
    """The main function of a test: body(test) raises Failure, or returns. Options of its own, by their names,
    are as argparse takes them, and in test.arguments."""
    parser = argparse.ArgumentParser(description=description.split('\n\n', maxsplit=1)[0])
    parser.add_argument('--build', type=pathlib.Path, default=SOURCE / 'build',
                        help='where udpad is (default: build/ of the source tree)')
    if variants != ('',):
        parser.add_argument('variant', choices=variants)
    parser.add_argument('--keep', action='store_true', help='keep the files and logs')
    for name, more in dict(options).items():
        parser.add_argument(name, **more)
    arguments = parser.parse_args()
    work = pathlib.Path(tempfile.mkdtemp(prefix='udpa-interop-'))
    test = Test(arguments, work)
    try:
        body(test)
        test.end()
    except Failure as failure:
        print(f'failed: {failure}\nLogs are in {work}.', flush=True)
        return 1
    except SystemExit: # skipped: there is nothing to look at
        shutil.rmtree(work)
        raise
    finally:
        test.kill_all()
    if arguments.keep:
        print(f'Files and logs are in {work}.')
    else:
        shutil.rmtree(work)
    return 0
