#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is installed: the library's files, what it exports, the examples of docs/examples, built with
pkg-config alone, shared and static, talking to each other and to a node; and the programs, which know
Envoy's types and do what udpad says to try."""
import argparse
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

from product import PATIENCE_S, SOURCE, Failure, Process, check, main, wait_for

EXAMPLES = ('publish', 'subscribe', 'listen', 'federate', 'report', 'orca', 'features')


def run(command, **more):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True,
                          check=False, **more)
    if done.returncode != 0:
        raise Failure(f'{" ".join(map(str, command))}: {done.stderr[-2000:]}{done.stdout[-1000:]}')
    return done.stdout


def symbols(*command):
    """The names that nm prints; those of versions have no address."""
    return {line.split()[-1].split('@')[0] for line in run(['nm', *command]).splitlines()
            if len(line.split()) == 3 and line.split()[1] != 'A'}
# What udpad asks of etcd is nobody else's.
OF_ETCD = {'etcdserverpb', 'mvccpb'}


class Installed:
    def __init__(self, test):
        self.root = test.work / 'root'
        self.test = test
        run([test.arguments.meson, 'install', '-C', test.build, '--no-rebuild', '--destdir',
             self.root])
        self.pc = next(self.root.rglob('udpa.pc'))
        self.lib = self.pc.parents[1]
        self.prefix = re.search(r'^prefix=(.*)$', self.pc.read_text(), re.M).group(1)

    def path(self, below_prefix):
        return pathlib.Path(f'{self.root}{self.prefix}') / below_prefix

    def pkg_config(self, *options):
        environment = {**os.environ, 'PKG_CONFIG_PATH': str(self.pc.parent)}
        text = run(['pkg-config', f'--define-variable=prefix={self.root}{self.prefix}', *options,
                    'udpa'], env=environment)
        return shlex.split(text)

    def compile(self, name, static):
        """A program of docs/examples; returns its path."""
        program = self.test.work / (f'{name}-static' if static else name)
        flags = self.pkg_config('--cflags', '--libs', *(['--static'] if static else []))
        if static: # the archive, and everything it needs
            flags = [str(self.lib / 'libudpa.a') if flag == '-ludpa' else flag for flag in flags]
        if self.test.arguments.sanitize != 'none':
            flags.append(f'-fsanitize={self.test.arguments.sanitize}')
        run([*shlex.split(self.test.arguments.cc), '-std=gnu11', '-Wall', '-Wextra', '-Werror',
             SOURCE / 'docs' / 'examples' / f'{name}.c', '-o', program, *flags,
             f'-Wl,-rpath,{self.lib}'])
        return program


def check_files(installed):
    headers = {path.name for path in (SOURCE / 'include' / 'udpa').glob('*.h')}
    there = {path.name for path in installed.root.rglob('include/udpa/*')}
    check('every public header is installed, and nothing else', headers == there, there)
    for name in ('libudpa.so', 'libudpa.so.0', 'libudpa.a'):
        check(f'{name} is installed', (installed.lib / name).exists())
    check('the library asks for its SONAME', 'libudpa.so.0' in
          run(['objdump', '-p', installed.lib / 'libudpa.so']))


def check_descriptors(test, installed):
    """Those of Envoy are installed if they are in the build, or the environment names them."""
    source = pathlib.Path(os.environ.get('UDPA_ENVOY_DESCRIPTORS') or
                          test.build / 'envoy-v3.descriptors')
    found = installed.path('share/udpa/envoy-v3.descriptors')
    if source.exists():
        check("the descriptors of Envoy's API are installed",
              found.exists() and found.read_bytes() == source.read_bytes(), found)
    else:
        check("without descriptors of Envoy's API none are installed", not found.exists(), found)
    return source.exists()


def check_programs(test, installed):
    """What udpad says to try works where both programs are installed; is Envoy's API, too?"""
    knows_envoy = check_descriptors(test, installed)
    node = test.start('installed', [installed.path('bin/udpad'), '--listen', '127.0.0.1:0',
                                    '--state', test.work / 'installed-data'])
    node.wait_for_log(' status') # the last of them
    lines = re.findall(r'^  (.*udpactl .*)$', node.text(), re.M)
    check('udpad says what to try', len(lines) == 3, node.text())
    for line, part in zip(lines, ('hello applied', 'name: hello', 'RESOURCES')):
        output = run(['sh', '-c', line])
        check(f'that works: {line}', part in output.replace('local/', ''), output)
    check('with a type of Envoy', ('get cluster' in lines[1]) == knows_envoy, lines[1])
    check('the node ends', test.interrupt(node) == 0, node.text())
    for word, wanted in (('conform', 'delta/'), ('bench', 'table and json')):
        given = ['--list'] if word == 'conform' else ['-o', 'yaml']
        done = subprocess.run([installed.path('bin/udpactl'), word, *given], capture_output=True, text=True,
                              check=False, env={**os.environ, 'PATH': '/none'})
        check(f'udpactl {word} calls udpa-{word} beside it', wanted in done.stdout + done.stderr, done)
    make_ca = installed.path('share/udpa/make-development-ca')
    run([make_ca, test.work / 'ca', 'node'])
    check('an authority for development can be made', (test.work / 'ca' / 'node.crt').exists())
    for page in ('man1/udpactl.1', 'man1/udpa-bench.1', 'man1/udpa-conform.1', 'man5/udpad.conf.5', 'man8/udpad.8'):
        check(f'{page} is installed', installed.path(f'share/man/{page}').exists())
    return knows_envoy


def check_documents(installed):
    for folder in ('design', 'examples', 'guide', 'reference'):
        pages = SOURCE / 'docs' / folder
        names = {path.relative_to(pages) for path in pages.rglob('*') if path.is_file()}
        names = {name for name in names if '__pycache__' not in name.parts and name.name != 'make.py'}
        root = installed.path('share/doc/udpa') / folder
        there = {path.relative_to(root) for path in root.rglob('*') if path.is_file()}
        check(f'docs/{folder} is installed', names and there == names, there ^ names)
    check('NEWS is installed', installed.path('share/doc/udpa/NEWS').exists())
    for name in ('alerts.yaml', 'dashboard.json'):
        check(f'{name} is installed', installed.path(f'share/udpa/{name}').read_text(encoding='utf-8') ==
              (SOURCE / 'monitoring' / name).read_text(encoding='utf-8'))


def check_protos(installed):
    """What is installed is enough to make code of the protocol."""
    root = installed.path('share/udpa/proto')
    ours = SOURCE / 'proto'
    names = {path.relative_to(ours) for path in ours.rglob('*.proto')
             if path.parent.name not in OF_ETCD}
    there = {path.relative_to(root) for path in root.rglob('*') if path.is_file()}
    check('all .proto files of the protocol are installed, and nothing else', names and there == names, there ^ names)
    includes = shlex.split(run(['pkg-config', '--variable=includedir', 'protobuf'])) or ['/usr/include']
    run(['protoc', f'-I{root}', f'-I{includes[0]}', f'--descriptor_set_out={installed.test.work / "all.descriptors"}',
         *(name for name in sorted(names) if name.parts[0] == 'udpa')])


def check_symbols(installed):
    text = (SOURCE / 'src' / 'libudpa.sym').read_text(encoding='utf-8')
    wanted = set(re.findall(r'^    (udpa_\w+);$', text, re.M))
    shared = symbols('-D', '--defined-only', installed.lib / 'libudpa.so')
    check(f'libudpa.so exports the {len(wanted)} public functions alone', shared == wanted,
          shared ^ wanted)
    static = symbols('-g', '--defined-only', installed.lib / 'libudpa.a')
    # A sanitizer marks each object; no build that is installed has one.
    static = {name for name in static if not name.startswith('__')}
    check('libudpa.a shows the same, and no message of protoc-c', static == wanted, static ^ wanted)


def check_direct(test, programs, kind):
    """The publisher dials the subscriber: its refusal is the publisher's receipt."""
    listen = test.start(f'listen-{kind}', [programs['listen'], '127.0.0.1:0', 'publish-example'])
    port = listen.wait_for_log('listening on port ').split()[-1]
    address = f'127.0.0.1:{port}'
    good = run([programs['publish'], address, 'com.acme/greeting', 'hello'])
    check(f'{kind}: applied', good == 'applied: com.acme/greeting\n', good)
    listen.wait_for_log("changed: com.acme/greeting is 'hello'")
    bad = subprocess.run([programs['publish'], address, 'com.acme/greeting', ''],
                         capture_output=True, text=True, check=False)
    check(f'{kind}: the receipt has the reason of the subscriber', bad.returncode == 1 and
          'refused: ' in bad.stdout and 'a greeting needs a text' in bad.stdout,
          bad.stdout + bad.stderr)
    check(f'{kind}: it ends', test.interrupt(listen) == 0, listen.text())


def check_through_node(test, programs):
    """What the subscriber refuses, the node says in its status."""
    node, address = test.start_node()
    subscribe = test.start('subscribe', [programs['subscribe'], address, 'com.acme'])
    subscribe.wait_for_log('complete: that is all there is')
    run([programs['publish'], address, 'com.acme/greeting', 'hello'])
    subscribe.wait_for_log("changed: com.acme/greeting is 'hello'")
    run([programs['publish'], address, 'com.acme/greeting', ''])
    subscribe.wait_for_log('refused: com.acme/greeting')
    check('the subscriber ends', test.interrupt(subscribe) == 0, subscribe.text())
    check('the node ends', test.interrupt(node) == 0, node.text())


def write_greeting(directory, name, text):
    """A resource file, in one step, as the node may read at any time."""
    (directory / 'new').write_text(
        f'name: {name}\nresource: {{"@type": type.googleapis.com/google.protobuf.StringValue, '
        f'value: {text}}}\n', encoding='utf-8')
    (directory / 'new').rename(directory / f'{name.replace("/", "-")}.yaml')


def start_authority(test, name, *names):
    """A node that speaks by itself, from files; (directory, address)."""
    directory = test.work / f'{name}-resources'
    directory.mkdir()
    for resource in names:
        write_greeting(directory, resource, 'hello')
    return directory, test.start_node(name, '--resources', directory)[1]


def check_federation(test, programs):
    """Two nodes, each the authority of a namespace, and one that moves from the first to the
    second."""
    _, old = start_authority(test, 'internal', 'com.acme/a', 'com.acme/b', 'com.blah/x')
    new_files, new = start_authority(test, 'uaas', 'com.blah/y', 'com.other/z')
    example = test.start('federate', [programs['federate'], 'google.protobuf.StringValue', new, '',
                                      old, 'com.acme'])
    example.wait_for_log('complete: both have said all')
    seen = set(re.findall(r'changed: (.*)', example.text()))
    check('direct federation: the endpoint sees both, and of each its namespace alone',
          seen == {'com.acme/a by internal', 'com.acme/b by internal', 'com.blah/y by uaas',
                   'com.other/z by uaas'}, example.text())
    write_greeting(new_files, 'com.acme/a', 'hello-from-uaas')
    example.wait_for_log('changed: com.acme/a by uaas')
    check('a name that both have is that of the first source', 'removed: ' not in example.text(),
          example.text())
    (new_files / 'com.acme-a.yaml').unlink()
    wait_for('what the second has, when the first has it no more',
             lambda: example.text().count('changed: com.acme/a by internal') == 2)
    check('moved there and back it was never gone', 'removed: ' not in example.text(),
          example.text())
    check('the endpoint ends', test.interrupt(example) == 0, example.text())


def phases(watch):
    """Of each state that was told, the phases of the versions."""
    for line in watch.text().splitlines():
        if line.startswith('{"event":'):
            yield [version['phase'] for version in
                   json.loads(line)['resource']['resource']['versions']]


def check_reports(test, programs):
    """What becomes of a resource, seen by those who ask the node for it."""
    node, address = test.start_node('reported')
    watch = test.start('watch', [test.build / 'udpactl', '--server', address, 'watch',
                                 'udpa.status.v1.ResourceState', '-o', 'json'])
    load = test.start('load', [test.build / 'udpactl', '--server', address, 'watch',
                               'udpa.load.v1.ClientLoad'])
    example = test.start('report', [programs['report'], address, 'com.acme/greeting'])
    load.wait_for_log('com.acme/greeting/report-example')
    run([programs['publish'], address, 'com.acme/greeting', 'hello'])
    wait_for('the first version to be used', lambda: ['ACTIVE'] in list(phases(watch)))
    run([programs['publish'], address, 'com.acme/greeting', 'hello again'])
    wait_for('the second version to be used',
             lambda: list(phases(watch)).count(['ACTIVE']) == 2)
    check('one drains while the other one warms', ['DRAINING', 'WARMING'] in list(phases(watch)),
          watch.text())
    wait_for('the load to be told again and again', lambda: load.text().count('changed') > 1)
    for program in (example, watch, load, node):
        check('it ends', test.interrupt(program) == 0, program.text())


class Features:
    """The example; its last line is what holds."""

    def __init__(self, test, program, name, *more):
        self.tree = test.work / f'{name}-tree'
        self.swap('hello')
        self.process = Process([str(program), str(self.tree / 'current'), *more],
                               test.work / f'{name}.log', takes_orders=True)
        test.processes.append(self.process)

    def swap(self, text):
        """Another version of the tree, in one step."""
        (self.tree / text / 'greeting').mkdir(parents=True)
        (self.tree / text / 'greeting' / 'text').write_text(f'# what is said\n{text}\n')
        (self.tree / 'new').symlink_to(text)
        (self.tree / 'new').rename(self.tree / 'current')

    def say(self, line):
        self.process.process.stdin.write(line.encode() + b'\n')
        self.process.process.stdin.flush()

    def expect(self, text, at_least, at_most):
        def holds():
            lines = re.findall(r"'(.*)' for (\d+) of 1000", self.process.text())
            return lines and lines[-1][0] == text and at_least <= int(lines[-1][1]) <= at_most
        wait_for(f'{text!r} for {at_least} to {at_most} users', holds)

    def end(self):
        self.process.process.stdin.close()
        check('features: it ends in peace', self.process.process.wait(PATIENCE_S) == 0,
              self.process.text())


def check_features(test, programs, kind):
    """A tree that is swapped, and what somebody types."""
    features = Features(test, programs['features'], f'features-{kind}')
    features.expect('hello', 400, 600)
    features.swap('welcome')
    features.expect('welcome', 400, 600)
    features.say('greeting.percent=100')
    features.expect('welcome', 1000, 1000)
    features.say('greeting.percent={"numerator": 1, "denominator": "MILLION"}')
    features.expect('welcome', 0, 10)
    features.say('greeting.numerator=5')
    features.process.wait_for_log('refused: ')
    features.say('greeting.percent=')
    features.expect('welcome', 400, 600)
    features.end()


def write_runtime(directory, percent):
    (directory / 'new').write_text(json.dumps({
        'name': 'com.acme/runtime',
        'resource': {'@type': 'type.googleapis.com/envoy.service.runtime.v3.Runtime',
                     'name': 'runtime', 'layer': {'greeting': {'percent': percent}}}}))
    (directory / 'new').rename(directory / 'runtime.json')


def check_features_through_node(test, programs):
    """And what a node sends by RTDS."""
    directory = test.work / 'runtime-resources'
    directory.mkdir()
    write_runtime(directory, 100)
    address = test.start_node('runtime', '--resources', directory)[1]
    features = Features(test, programs['features'], 'features-rtds', address, 'com.acme/runtime')
    features.expect('hello', 1000, 1000)
    write_runtime(directory, 0)
    features.expect('hello', 0, 0)
    features.say('greeting.percent=100') # whoever types counts before the server
    features.expect('hello', 1000, 1000)
    features.say('greeting.percent=')
    (directory / 'runtime.json').unlink()
    features.expect('hello', 400, 600)
    features.end()


def check_nobody(test, programs):
    none = subprocess.run([programs['publish'], '127.0.0.1:1', 'com.acme/greeting', 'hello'],
                          capture_output=True, text=True, check=False)
    check('a node that is not there is told of, with its address', none.returncode == 1 and
          'no receipt from source' in none.stderr and '127.0.0.1:1' in none.stderr, none.stderr)


def body(test):
    installed = Installed(test)
    check_files(installed)
    check_documents(installed)
    check_protos(installed)
    check_symbols(installed)
    knows_envoy = (test.build / 'udpad').exists() and check_programs(test, installed)
    kind = test.arguments.variant
    programs = {name: installed.compile(name, kind == 'static') for name in EXAMPLES}
    check_direct(test, programs, kind)
    check_features(test, programs, kind)
    if (test.build / 'udpad').exists():
        check_through_node(test, programs)
        check_federation(test, programs)
        check_reports(test, programs)
        if knows_envoy:
            check_features_through_node(test, programs)
    check_nobody(test, programs)


if __name__ == '__main__':
    PARSER = argparse.ArgumentParser(description=__doc__)
    PARSER.add_argument('--meson', default='meson')
    PARSER.add_argument('--cc', default='cc')
    PARSER.add_argument('--sanitize', default='none')
    sys.exit(main(PARSER, body, ('shared', 'static')))
