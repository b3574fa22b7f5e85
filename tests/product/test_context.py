#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Contexts of udpactl, with a node: they are made, chosen, shown and deleted; what they set is used, below the command
line and the environment; what is wrong is named with where it is from."""
import argparse
import json
import os
import re
import subprocess
import sys

from product import check, main, wait_for

GOOD, REFUSED, MISTAKE, NO_CONNECTION = range(4)
STRING = 'google.protobuf.StringValue'
CONFIG = 'udpa/config.yaml'


class Udpactl:
    """(exit status, output, errors)"""

    def __init__(self, test):
        self.program = test.build / 'udpactl'
        self.home, self.here = test.work / 'home', test.work / 'here'
        self.here.mkdir()
        self.file = self.home / CONFIG

    def __call__(self, *arguments, text=None, **variables):
        environment = {name: value for name, value in os.environ.items() if not name.startswith('UDPACTL_')}
        done = subprocess.run([self.program, *map(str, arguments)], input=text, text=True, capture_output=True, check=False,
                              timeout=60, cwd=self.here,
                              env={**environment, 'XDG_CONFIG_HOME': str(self.home), **variables})
        return done.returncode, done.stdout, done.stderr


def start(test):
    (test.work / 'node.json').write_text(json.dumps({
        'node': {'id': 'edge', 'namespace': 'com.edge'}, 'sockets': [{'address': '127.0.0.1:0'}]}))
    node = test.start('node', [test.build / 'udpad', '-c', test.work / 'node.json', '--state', test.work / 'node-data'])
    wait_for('the whole banner', lambda: 'names without' in node.text() or node.process.poll() is not None)
    return node, re.search(r'listening on ([\d.:]+)', node.text())[1], re.search(r'admin socket (unix:\S+)', node.text())[1]


def check_changes(ctl, address, admin):
    status, out, errors = ctl('context')
    check('without a file there is none', status == GOOD and len(out.splitlines()) == 1 and errors == '', (out, errors))
    check('  nor one to use', ctl('context', 'use', 'lab')[0] == REFUSED and not ctl.file.exists())
    status, out, errors = ctl('context', 'set', 'lab', '--server', address, '--admin', admin, '-n', 'com.acme')
    check('the first one is current', (status, out, errors) == (GOOD, "context 'lab' is current\n", ''), (out, errors))
    check('  and the file is its owner\'s', ctl.file.stat().st_mode & 0o777 == 0o600)
    check('another one is not', ctl('context', 'set', 'prod', '--server', '127.0.0.1:1', '--ca', 'ca.crt',
                                    '--admin', 'unix:admin.sock')[:2] == (GOOD, "context 'prod' is set\n"))
    shown = json.loads(ctl('context', '-o', 'json')[1])
    check('names of files are whole', shown[1] == {'name': 'prod', 'current': False, 'server': '127.0.0.1:1',
                                                   'ca': str(ctl.here / 'ca.crt'),
                                                   'admin': f'unix:{ctl.here}/admin.sock'}, shown)
    ctl('context', 'set', 'prod', '--ca', '', '--timeout', '0.5')
    check('what is empty is removed', ctl('context', 'show', 'prod')[1].splitlines()[1:] == [
        'server: 127.0.0.1:1', f'admin: unix:{ctl.here}/admin.sock', 'timeout: 0.5'], ctl('context', 'show', 'prod')[1])
    for what, arguments, error in (
            ('a name', ('set', 'a/b', '--server', 'a:1'), 'cannot be the name of a context'),
            ('no option', ('set', 'lab'), 'give what is to be kept'),
            ('an address', ('set', 'lab', '--server', ':'), "--server :: ':' is no address"),
            ('a namespace', ('set', 'lab', '-n', 'A'), '-n A: '),
            ('a word', ('uze', 'lab'), "write 'udpactl context")):
        status, _, errors = ctl('context', *arguments)
        check(f'{what} that is wrong is an error', status == MISTAKE and error in errors, errors)
    status, _, errors = ctl('context', 'use', 'labb')
    check('a name that is nearly right is suggested', status == REFUSED and "did you mean 'lab'?" in errors, errors)


def check_use(ctl, address):
    text = f'name: x\nresource:\n  "@type": type.googleapis.com/{STRING}\n  value: "1"\n'
    check('the current one is used', ctl('apply', '-f', '-', text=text)[0] == GOOD)
    check('  with its namespace', ctl('get', STRING, '-o', 'name')[1] == f'{STRING}/com.acme/x\n')
    check('  and where it is administered', 'com.edge' in ctl('config')[1])
    check('a namespace of the environment goes before it', ctl('get', STRING, UDPACTL_NAMESPACE='com.other')[1] == '')
    check('  one of the command line before that',
          'com.acme/x' in ctl('get', STRING, '-n', 'com.acme', UDPACTL_NAMESPACE='com.other')[1])
    for what, arguments, variables in (
            ('a namespace', ('--node-id', 'x'), {'UDPACTL_NAMESPACE': 'com.acme'}),
            ('a node id', ('-n', 'com.acme'), {'UDPACTL_NODE_ID': 'x'})):
        status, _, errors = ctl('apply', '-f', '-', '--prune', *arguments, text=text, **variables)
        check(f'{what} of the environment removes nothing', status == MISTAKE and '--prune needs' in errors, errors)
    check('verbs that have none ignore it', ctl('status')[0] == GOOD and ctl('get', '--all', '-o', 'yaml')[0] == GOOD)
    check('without a context the node has its own namespace',
          ctl('--context', '', '--server', address, 'get', STRING, 'x')[2].startswith("udpactl: there is no"))

    status, _, errors = ctl('--context', 'prod', 'get', STRING)
    check('a server that is away is named', status == NO_CONNECTION and 'cannot connect to 127.0.0.1:1' in errors and
          f"--server is set by context 'prod' in {ctl.file}." in errors, errors)
    check('config use is context use', ctl('config', 'use', 'prod')[1] == "context 'prod' is current\n")
    for words in (('list',), ('current',), ('show',), ('show', 'lab')):
        check(f'  and so are the other words: {words}', ctl('config', *words)[:2] == ctl('context', *words)[:2] and
              ctl('config', *words)[0] == GOOD)
    check('  prod is it', ctl('config', 'current')[1] == 'prod\n')
    check('config set keeps what is half of TLS', ctl('config', 'set', 'half', '--ca', 'ca.crt', '--cert', 'me.crt')[0] == GOOD)
    check('  config delete removes it', ctl('config', 'delete', 'half')[1] == "context 'half' is deleted\n")
    check('another word is of neither', ctl('config', 'uze')[0] == MISTAKE)
    check('  which has another one now', ctl('get', STRING)[0] == NO_CONNECTION)
    check('--server is another node', ctl('--server', address, 'get', STRING)[0] == GOOD)
    check('UDPACTL_CONTEXT chooses', ctl('get', STRING, UDPACTL_CONTEXT='lab')[0] == GOOD)
    check('  for the moment', ctl('context', 'current')[1] == 'prod\n')
    status, _, errors = ctl('get', UDPACTL_CONTEXT='labor')
    check('  one that is there', status == MISTAKE and 'UDPACTL_CONTEXT labor: there is no such context' in errors, errors)

    for name, value, error in (('UDPACTL_TIMEOUT', 'soon', 'UDPACTL_TIMEOUT soon: give seconds'),
                               ('UDPACTL_NAMESPACE', 'A', 'UDPACTL_NAMESPACE A: a namespace has labels'),
                               ('UDPACTL_SERVER', ':', "UDPACTL_SERVER :: ':' is no address to dial"),
                               ('UDPACTL_CERT', 'c', 'go together: --cert is set by UDPACTL_CERT')):
        status, _, errors = ctl('get', **{name: value})
        check(f'{name} that is wrong is named', status == MISTAKE and error in errors, errors)


def check_key(ctl):
    key = ctl.here / 'me.key'
    key.write_text('x')
    for mode, is_wide in ((0o644, True), (0o660, True), (0o640, False), (0o600, False)):
        key.chmod(mode)
        _, _, errors = ctl('get', '--context', '', '--server', '127.0.0.1:1', '--ca', 'ca.crt', '--cert', 'me.crt',
                           UDPACTL_KEY=str(key))
        check(f'a key of mode {mode:o} is{"" if is_wide else " not"} warned of',
              (f'warning: others than its owner and its group have rights for the private key {key} (mode 0{mode:o})'
               in errors) == is_wide, errors)
    key.chmod(0o644)
    _, _, errors = ctl('bench', '--context', '', '--server', '127.0.0.1:1', '--ca', 'ca.crt', '--cert', 'me.crt', '--key', key)
    check('  once', errors.count('warning: ') == 1, errors)


def check_file(ctl):
    good = ctl.file.read_text()
    for what, text, error in (
            ('current', 'current: nobody\n', "'current' nobody: there is no such context in"),
            ('two', 'contexts:\n  a: {}\n  a: {}\n', 'config.yaml:3:3: '),
            ('a tab', 'contexts:\n\ta: 1\n', 'config.yaml:2:'),
            ('a list', 'contexts: [a]\n', "config.yaml:1:11: 'contexts' must be a map"),
            ('no end', 'contexts: {', 'config.yaml:')):
        ctl.file.write_text(text)
        status, _, errors = ctl('get')
        check(f'what is wrong in it has its place: {what}', status == MISTAKE and error in errors, errors)
    ctl.file.write_text('current: nobody\ncontexts: {lab: {server: "a:1"}}\n')
    check('  and use repairs what it can', ctl('config', 'use', 'lab')[0] == GOOD and ctl('config', 'current')[1] == 'lab\n')
    ctl.file.write_text(good)
    kept = ctl.home / 'kept.yaml'
    ctl.file.rename(kept)
    ctl.file.symlink_to(kept)
    status, out, _ = ctl('context', 'delete', 'prod')
    check('the current one can go', status == GOOD and out == "context 'prod' is deleted, and none is current\n", out)
    check('  by a link to the file', ctl.file.is_symlink() and 'prod:' not in kept.read_text() and 'lab' in kept.read_text())
    kept.write_text('contexts:\n  lab:\n    servr: a:1\n')
    status, _, errors = ctl('get')
    check('what is wrong in it has its place', status == MISTAKE and
          f"{ctl.file}:3:5: a context has no field 'servr'; did you mean 'server'?" in errors, errors)
    check('  and is nothing for those that use none', ctl('help')[0] == GOOD and ctl('--context', '', 'get')[0] != MISTAKE)
    check('  nor is it overwritten', ctl('context', 'set', 'new', '--server', 'a:1')[0] == MISTAKE and
          'servr' in kept.read_text())
    status, _, errors = ctl('context', XDG_CONFIG_HOME='', HOME='')
    check('without a home there is no place', status == MISTAKE and 'there is no place for contexts' in errors, errors)
    check('  which is nothing for the rest', ctl('get', XDG_CONFIG_HOME='', HOME='')[0] == NO_CONNECTION)


def body(test):
    node, address, admin = start(test)
    ctl = Udpactl(test)
    check_changes(ctl, address, admin)
    check_use(ctl, address)
    check_key(ctl)
    check_file(ctl)
    check('the node ends well', test.interrupt(node) == 0, node.text())


if __name__ == '__main__':
    sys.exit(main(argparse.ArgumentParser(description=__doc__), body))
