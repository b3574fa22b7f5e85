#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The examples of README.md and of the guide, as a reader pastes them.

A fenced example says behind its language where it goes, and that decides what is done with it:

    yaml udpad.yaml   a bootstrap file of a node: udpad --check, with the files that it names
    yaml resource     a file of resources: udpactl validate
    yaml envoy [TYPE] a bootstrap file of an Envoy, or what stands in a message of TYPE: udpactl validate
    c                 compiled, with the variables that the page speaks of
    json, python      parsed
    sh, console       the lines that call udpactl or udpad are run; so are those of indented examples
    cpp, go, java     looked at by tests/interop/test_quick_starts.py, which runs the quick starts as they are printed
    ini, text         not looked at: units of systemd, and output
A word with a dot behind that is the name of the file.

Of commands it is tested that they are understood (exit status 2 is a mistake in the command line or
in a file): most of what they are about is not there.
"""
import argparse
import contextlib
import functools
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'docs' / 'site'))

import markdown_page  # noqa: E402
from product import SOURCE, Failure, check, main, need_descriptors  # noqa: E402

PAGES = [SOURCE / 'README.md',
         *sorted(page for folder in ('guide', 'reference') for page in (SOURCE / 'docs' / folder).glob('*.md'))]
TYPES = {
    '': 'envoy.config.bootstrap.v3.Bootstrap',
    'Listener': 'envoy.config.listener.v3.Listener',
}
MISTAKE = 2  # exit status of udpactl and udpad
ENDLESS_S = 1.5  # of a command that goes on until it is ended
RESOURCE = """name: com.acme/{name}
resource:
  "@type": type.googleapis.com/envoy.config.cluster.v3.Cluster
  name: backend
  type: STRICT_DNS
  connect_timeout: 1s
"""
ROUTE = """"@type": type.googleapis.com/envoy.config.route.v3.RouteConfiguration
name: shop
virtual_hosts:
- name: all
  domains: ["*"]
  routes:
  - match: {prefix: /}
    route: {weighted_clusters: {clusters: [{name: backend, weight: 60}, {name: bakend, weight: 40}]}}
"""
# What the pages' pieces of C stand in.
C_PROLOGUE = """
#include <stdio.h>
#include <uv.h>
#include <udpa/endpoint.h>
#include <udpa/load.h>
#include <udpa/orca.h>
#include <udpa/report.h>
#include <udpa/runtime.h>
#include <udpa/subscribe.h>
"""
C_VARIABLES = {
    'endpoint': 'udpa_endpoint *endpoint',
    'loop': 'uv_loop_t *loop',
    'error': 'udpa_error *error = NULL',
    'options': 'udpa_endpoint_options options = UDPA_ENDPOINT_OPTIONS_INIT',
    'runtime': 'udpa_runtime *runtime',
    'recorder': 'udpa_load_recorder *recorder',
    'target': 'udpa_load_target *target',
    'sources': 'udpa_source sources[2]',
    'on_changed': 'udpa_runtime_changed_fn on_changed',
    'user': 'const char *user',
    'hash_of': 'uint64_t (*hash_of)(const char *)',
}


class Example:
    def __init__(self, place, info, text):
        self.place, self.info, self.text = place, info, text


def examples(page):
    """The examples of a page, with where they stand."""
    return [Example(f'{page.name}:{block.line}', block.info, block.text) for block in markdown_page.blocks(page)]


def run(command, work, timeout=30, env=None):
    """(exit status, all output); status 0 if it had to be ended."""
    try:
        done = subprocess.run([str(part) for part in command], cwd=work, capture_output=True,
                              text=True, timeout=timeout, check=False, env=env,
                              input=RESOURCE.format(name='stdin'))
    except subprocess.TimeoutExpired:
        return 0, ''
    return done.returncode, done.stdout + done.stderr


class Reader:
    """Somebody who pastes what stands there, and has the files that it names."""

    def __init__(self, test):
        self.test = test
        self.work = test.work / 'reader'
        self.work.mkdir()
        ca = SOURCE / 'certs' / 'make-development-ca'
        keys = test.work / 'keys'
        subprocess.run([ca, keys, 'node'], check=True, capture_output=True)
        config, serial = keys / 'crl.conf', keys / 'index.txt'
        serial.write_text('')
        config.write_text(f'[ca]\ndefault_ca=d\n[d]\ndatabase={serial}\ndefault_md=sha256\n'
                          'default_crl_days=30\n')
        subprocess.run(['openssl', 'ca', '-gencrl', '-config', config, '-keyfile', keys / 'ca.key',
                        '-cert', keys / 'ca.crt', '-out', keys / 'ca.crl'], check=True,
                       capture_output=True)
        subprocess.run(['openssl', 'genpkey', '-algorithm', 'ed25519', '-out', keys / 'acme.key'],
                       check=True, capture_output=True)
        subprocess.run(['openssl', 'pkey', '-in', keys / 'acme.key', '-pubout',
                        '-out', keys / 'acme.pub'], check=True, capture_output=True)
        (keys / 'acme.key').chmod(0o600)
        (keys / 'store.key').write_text('ab' * 32 + '\n')
        (keys / 'store.key').chmod(0o600)
        self.keys = keys

    def material(self, field, name):
        """What the file of a field must be."""
        if name.endswith('.pub') or name.endswith('acme.key'):
            return self.keys / ('acme' + name[-4:])
        return self.keys / {'certificate_file': 'node.crt', 'private_key_file': 'node.key',
                            'client_ca_file': 'ca.crt', 'token_file': 'store.key', 'ca_file': 'ca.crt', 'crl_file': 'ca.crl',
                            'keys: [{file': 'store.key', 'public_key_file': 'acme.pub'}[field]

    def udpad_yaml(self, example, directory):
        """Paths of the machine become paths below a directory, where the files are."""
        text = re.sub(r'(?<![\w./:])/(etc|var|run|srv|usr)/', str(directory) + r'/\1/', example.text)
        for field, name in re.findall(r'\b(\w+_file|keys: \[\{file): *([\w./-]+)', text):
            file = directory / name
            file.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(self.material(field, name), file)
        for name in re.findall(r'(?:file: \{path|path|directory|symlink_root): *([\w./-]+)', text):
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
        for name in re.findall(r'(?<!file: \{)\b(?:path|directory|symlink_root): *([\w./-]+)', text):
            (directory / name).mkdir(parents=True, exist_ok=True)
        for name in re.findall(r'[\w./-]+\.descriptors', text):
            file = directory / name
            file.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(self.test.build / 'envoy-v3.descriptors', file)
        file = directory / 'udpad.yaml'
        file.write_text(text, encoding='utf-8')
        return run([self.test.build / 'udpad', '--check', '-c', file, '--state', directory / 'state'],
                   directory)

    def resource(self, example, directory):
        file = directory / 'example.yaml'
        file.write_text(example.text, encoding='utf-8')
        return run([self.test.build / 'udpactl', 'validate', file], directory)

    def envoy(self, example, directory):
        kind = [word for word in example.info.split()[2:] if '.' not in word]
        body = ''.join('  ' + line for line in example.text.splitlines(True))
        file = directory / 'example.yaml'
        file.write_text(f'name: example\nresource:\n  "@type": x/{TYPES["".join(kind)]}\n{body}',
                        encoding='utf-8')
        return run([self.test.build / 'udpactl', 'validate', file], directory)

    def c(self, example, directory):
        text = re.sub(r'^ *#include.*\n', '', example.text, flags=re.M)
        text = re.sub(r'^( *)\.\.\.$', r'\1;', text, flags=re.M)
        declared = set(re.findall(r'\b(?:udpa_\w+|const) [^;=(]*?\**(\w+)(?:\[\w*\])? ?[;=]', text))
        used = [f'    {declaration};\n' for name, declaration in C_VARIABLES.items()
                if re.search(rf'\b{name}\b', text) and name not in declared]
        file = directory / 'example.c'
        file.write_text(f'{C_PROLOGUE}void example(void);\nvoid\nexample(void)\n{{\n{"".join(used)}'
                        f'{text}}}\n', encoding='utf-8')
        return run([*shlex.split(self.test.arguments.cc), '-fsyntax-only', *self.flags, file], directory)

    @functools.cached_property
    def flags(self):
        return subprocess.run(['pkg-config', '--cflags', 'udpa-uninstalled'], text=True, check=True,
                              capture_output=True, env={
                                  'PATH': '/usr/bin:/bin',
                                  'PKG_CONFIG_PATH': str(self.test.build / 'meson-uninstalled'),
                              }).stdout.split()

    def json(self, example, _directory):
        json.loads(example.text)
        return 0, ''

    def python(self, example, _directory):
        compile(example.text, example.place, 'exec')
        return 0, ''

    def handler(self, example):
        """None: the example is for the eye, or its commands are run."""
        words = example.info.split()
        if words[:1] and words[0] in ('sh', 'console', 'ini', 'text', markdown_page.INDENTED, 'cpp', 'go', 'java'):
            return None
        known = {'yaml udpad.yaml': self.udpad_yaml, 'yaml resource': self.resource,
                 'yaml envoy': self.envoy, 'c': self.c, 'json': self.json, 'python': self.python}
        found = known.get(' '.join(words[:2])) or known.get(words[0] if words else '')
        if not found:
            raise Failure(f'{example.place}: "```{example.info}" does not say where it goes: one of '
                          f'{", ".join(known)}, sh, console, ini, text')
        return found

    def problem(self, example):
        """What is wrong with an example, or None."""
        handler = self.handler(example)
        if not handler:
            return None
        directory = pathlib.Path(tempfile.mkdtemp(dir=self.work))
        status, output = handler(example, directory)
        return f'{example.place} ({example.info}): {output}' if status else None


def commands(example):
    """Calls of our programs in an example, without prompt, comment and redirection."""
    if not example.info.startswith(('sh', 'console', markdown_page.INDENTED)):
        return
    for line in re.split(r'\n| \| ', example.text):
        match = re.match(r'(?:\$ )?(?:sudo -u udpa )?(?:build/)?((?:udpactl|udpad)\s.*)', line)
        if match:
            yield shlex.split(match[1].split(' > ')[0], comments=True)


class Shell:
    """Runs commands against a node that is there, whatever node they name."""

    def __init__(self, test):
        self.test = test
        self.work = test.work / 'shell'
        self.work.mkdir()
        self.successors = [] # of the node, by 'udpactl restart': nobody else ends them
        node, server = test.start_node('documents', '--http', '127.0.0.1:0')
        line = node.wait_for_log('over REST')
        node.wait_for_log('admin socket')
        self.nodes = {'--server': server, '--apply-to': server,
                      '--admin': 'unix:' + re.search(r'admin socket unix:(\S+)', node.text())[1],
                      '--http': re.search(r'listening on ([\d.:]+)', line)[1]}
        subprocess.run(['openssl', 'genpkey', '-algorithm', 'ed25519', '-out', 'acme.key'],
                       cwd=self.work, check=True, capture_output=True)
        (self.work / 'admin.token').write_text('ab' * 32 + '\n')
        (self.work / 'admin.token').chmod(0o600)
        subprocess.run(['openssl', 'pkey', '-in', 'acme.key', '-pubout', '-out', 'acme.pub'],
                       cwd=self.work, check=True, capture_output=True)

    def make(self, name):
        path = self.work / name
        if name.endswith('/'):
            path.mkdir(exist_ok=True)
            path = path / 'resource.yaml'
        path.write_text(RESOURCE.format(name=re.sub(r'\W', '-', name)), encoding='utf-8')

    def problem(self, place, command):
        if command[0] == 'udpad':
            return self.check_udpad(place, command)
        for name in command:
            if re.fullmatch(r'[\w-]+\.yaml|[\w-]+/', name):
                self.make(name)
            elif name.endswith('.jsonl'):
                (self.work / name).touch()
        command = list(command)
        for option, value in self.nodes.items():
            if option in command:
                command[command.index(option) + 1] = value
        status, output = run([self.test.build / 'udpactl', *command[1:]], self.work, ENDLESS_S,
                             {**os.environ, 'UDPACTL_SERVER': self.nodes['--server'],
                              'UDPACTL_ADMIN': self.nodes['--admin'],
                              'XDG_CONFIG_HOME': str(self.work / 'home')})
        self.successors += [int(process) for process in re.findall(r'Process (\d+) serves', output)]
        return f'{place}: {shlex.join(command)}: {output}' if status == MISTAKE else None

    def end(self):
        for process in self.successors:
            with contextlib.suppress(ProcessLookupError): # it has had a successor in its turn
                os.kill(process, signal.SIGKILL)

    def check_udpad(self, place, command):
        if '-c' in command or '--config' in command:
            at = command.index('-c' if '-c' in command else '--config')
            command = command[:at] + command[at + 2:]
        if '--resources' in command:
            (self.work / command[command.index('--resources') + 1]).mkdir(exist_ok=True)
        status, output = run([self.test.build / 'udpad', '--check', *command[1:]], self.work)
        return f'{place}: {shlex.join(command)}: {output}' if status else None


def test_self(reader, shell):
    """What would be wrong is found."""
    planted = [
        ('yaml udpad.yaml', 'socket: []'),
        ('yaml udpad.yaml', 'static_resources: {directories: [{path: a, tls: {…}}]}'),
        ('yaml resource', '"@type": x/envoy.config.cluster.v3.Cluster\nname: a\nload_assignment: …'),
        ('yaml envoy', 'dynamic_resource: {}'),
        ('c', 'options.no_such_option = 1;'),
    ]
    for info, text in planted:
        if not reader.problem(Example('planted', info, text)):
            raise Failure(f'nothing is found in {text}')
    try:
        reader.problem(Example('planted', 'yaml', 'a: 1'))
        raise Failure('an example that does not say where it goes passes')
    except Failure as failure:
        if 'does not say where' not in str(failure):
            raise
    for command in ('udpactl status --no-such', 'udpactl get cluster -o nothing', 'udpad --resourcs x'):
        if not shell.problem('planted', command.split()):
            raise Failure(f'nothing is found in {command}')
    print('ok: planted mistakes are found', flush=True)


def test_banner(test):
    """The commands that a node prints at its start."""
    node, _ = test.start_node('banner')
    node.wait_for_log(' status')
    text = node.log.read_text(encoding='utf-8').split('Try in another terminal:\n')[1]
    lines = [line.strip() for line in text.split('\n') if line.startswith('  ')]
    check('a node prints three commands', len(lines) == 3, lines)
    for line in lines:
        status, output = run(['sh', '-c', line], test.work)
        check(f'  it works: {line.split(str(test.build))[1]}', status == 0, output)


def test_refusal(test, reader):
    """The page on signatures shows what is refused as it is refused."""
    page = examples(SOURCE / 'docs' / 'guide' / 'signatures.md')
    node_file = next(example for example in page if 'required:' in example.text)
    shown = next(example for example in page if ' refused: ' in example.text)
    directory = reader.work / 'refusal'
    directory.mkdir()
    reader.udpad_yaml(node_file, directory)
    _, server = test.start_node('refusal', '-c', directory / 'udpad.yaml')
    (directory / 'backend.yaml').write_text(RESOURCE.format(name='backend'), encoding='utf-8')
    command = next(commands(shown))
    status, output = run([test.build / 'udpactl', '--server', server, *command[1:]], directory)
    check('the refusal is as printed', status == 1 and output == shown.text.split('\n', 1)[1],
          f'{status}: {output}')


def test_references(test, reader):
    """The page on validation shows a name that leads nowhere as it is shown."""
    shown = next(example for example in examples(SOURCE / 'docs' / 'guide' / 'validation.md')
                 if '--references --known' in example.text)
    directory = reader.work / 'references'
    (directory / 'resources').mkdir(parents=True)
    (directory / 'resources' / 'routes.yaml').write_text(ROUTE, encoding='utf-8')
    (directory / 'resources' / 'clusters.yaml').write_text(
        '"@type": x/envoy.config.cluster.v3.Cluster\nname: backend\nconnect_timeout: 1s\n')
    status, output = run([test.build / 'udpactl', *next(commands(shown))[1:]], directory)
    check('a name that leads nowhere is as printed', status == 2 and
          output.replace('//', '/') == shown.text.split('\n', 1)[1], f'{status}: {output}')


def test_all(test):
    need_descriptors(test)
    reader, shell = Reader(test), Shell(test)
    try:
        test_pages(test, reader, shell)
    finally:
        shell.end()


def test_pages(test, reader, shell):
    test_self(reader, shell)
    test_banner(test)
    test_refusal(test, reader)
    test_references(test, reader)
    problems, n, n_commands, run_before = [], 0, 0, set()
    for page in PAGES:
        for example in examples(page):
            n += 1
            problems.append(reader.problem(example))
            for command in commands(example):
                n_commands += 1
                if tuple(command) not in run_before:
                    problems.append(shell.problem(example.place, command))
                run_before.add(tuple(command))
    problems = [problem for problem in problems if problem]
    check('there are examples and commands', n > 60 and n_commands > 30, (n, n_commands))
    check('all examples work as printed', not problems, '\n'.join(['', *problems]))


if __name__ == '__main__':
    ARGUMENTS = argparse.ArgumentParser(description=__doc__)
    ARGUMENTS.add_argument('--cc', default='cc')
    sys.exit(main(ARGUMENTS, test_all))
