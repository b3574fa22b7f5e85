#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What udpactl prints for people, on terminals and for pipes: tables, their order and width, progress,
and nothing that a terminal would obey."""
import argparse
import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time

from product import check, main, wait_for

STRING = 'type.googleapis.com/google.protobuf.StringValue'
ESCAPE = '\x1b[2J'


def greeting(name, text, version=None):
    lines = [f'name: {json.dumps(name)}', f'resource: {{"@type": {STRING}, value: {json.dumps(text)}}}']
    if version:
        lines.append(f"version: {json.dumps(version)}\norigin_info: {{authority: udpactl, generation: 7}}")
    return "\n".join(lines) + "\n---\n"


def printable(text):
    return not re.search('[\x00-\x09\x0b-\x1f\x7f-\x9f]', text)


class Ctl:
    """Calls udpactl at one node, through pipes or on a terminal."""

    def __init__(self, test, address, *options):
        self.command = [str(part) for part in (
            test.build / 'udpactl', '--server', address,
            '--descriptors', test.build / 'proto' / 'udpa.descriptors', *options)]

    def run(self, *arguments, stdin=''):
        return subprocess.run([*self.command, *map(str, arguments)], text=True, capture_output=True,
                              input=stdin, check=False)

    def __call__(self, *arguments, stdin='', status=0, err=''):
        """Its standard output; its exit status and a part of its standard error must be these."""
        done = self.run(*arguments, stdin=stdin)
        check(f'udpactl {" ".join(map(str, arguments))}: exit status {status}',
              done.returncode == status and err in done.stderr,
              f'{done.returncode}: {done.stdout}{done.stderr}')
        return done.stdout

    def on_terminal(self, *arguments, columns, environment=(), only=None, until=None):
        """What a terminal of so many columns gets; @only: the stream that is the terminal, the other
        one goes nowhere. @until: a text after which the program is interrupted."""
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack('HHHH', 24, columns, 0, 0))
        ends = {name: slave if only in (None, name) else subprocess.DEVNULL
                for name in ('stdout', 'stderr')}
        environ = {name: value for name, value in os.environ.items() if name != 'COLUMNS'}
        process = subprocess.Popen([*self.command, *map(str, arguments)], stdin=subprocess.DEVNULL,
                                   env={**environ, **dict(environment)}, **ends)
        os.close(slave)
        try:
            out = self.read(master, process, until)
            status = process.wait(10)
        finally:
            process.kill()
            os.close(master)
        return out.decode().replace('\r\n', '\n'), status

    @staticmethod
    def read(master, process, until):
        out, deadline = b'', time.monotonic() + 30
        while time.monotonic() < deadline:
            if not select.select([master], [], [], 0.1)[0]:
                continue
            try:
                part = os.read(master, 65536)
            except OSError: # the other end is closed
                break
            out += part
            if until and until.encode() in out:
                process.terminate()
                until = None
        return out


def check_masked(test, ctl):
    """Names and versions of files and peers do not reach the terminal as they are."""
    path = test.work / 'masked.yaml'
    path.write_text(greeting('masked', 'x', version=f'v1{ESCAPE}\u009b\nforged'))
    done = ctl.run('apply', '--restore', '-f', path)
    check('apply masks a version', done.returncode == 0 and printable(done.stdout) and
          'masked applied (version v1?[2J??forged)\n' in done.stdout, done)
    for arguments, status in ((['get', STRING], 0), (['get', STRING, '-o', 'wide'], 0),
                              (['delete', STRING, 'masked'], 0),
                              (['delete', STRING, f'no{ESCAPE}\nbody'], 1),
                              (['get', STRING, f'no{ESCAPE}\nbody'], None),
                              (['apply', '-f', f'/none{ESCAPE}\nhere'], 2),
                              (['wait', STRING, f'no{ESCAPE}', '--timeout', '0.5'], None)):
        done = ctl.run(*arguments)
        check(f'{arguments[0]} masks', printable(done.stdout + done.stderr) and
              status in (None, done.returncode), done)
    path.write_text(f'name: "a{ESCAPE}"\nresource: {{"@type": "x{ESCAPE}\\u009b"}}\n'.replace('\x1b', '\\e'))
    for verb in ('apply', 'delete', 'validate'):
        done = ctl.run(verb, '-f', path)
        check(f'{verb} masks what a file says', done.returncode and printable(done.stderr), done)


def column(out, index):
    """That of each row behind the heads."""
    return [line.split()[index] for line in out.splitlines()[1:]]


def check_order(test, ctl):
    """Names and numbers in the order in which people count."""
    for i, name in enumerate(('r10', 'r2', 'r1')):
        ctl('apply', '-f', '-', stdin=greeting(name, 'x' * (10 - i)))
    out = ctl('get', STRING)
    check('names with numbers', column(out, 1) == ['local/r1', 'local/r2', 'local/r10'], out)
    out = ctl('get', STRING, '--sort-by', '-name')
    check('--sort-by, from the last', column(out, 1) == ['local/r10', 'local/r2', 'local/r1'], out)
    out = ctl('get', STRING, '--sort-by=Name:desc', '--no-headers')
    check('without heads', [line.split()[1] for line in out.splitlines()] ==
          ['local/r10', 'local/r2', 'local/r1'], out)
    versions = column(ctl('get', STRING, '--sort-by', 'version'), 2)
    check('by another column', versions == sorted(versions) and len(set(versions)) == 3, versions)
    check('versions are short', all(re.fullmatch('[0-9a-f]{12}…', one) for one in versions), versions)
    whole = column(ctl('get', STRING, '-o', 'wide', '--sort-by', 'version'), 2)
    check('-o wide has them whole', [one[:12] + '…' for one in whole] == versions and
          all(re.fullmatch('[0-9a-f]{32}', one) for one in whole), whole)
    check('and so has JSON', {one['version'] for one in json.loads(
        ctl('get', STRING, '-o', 'json'))} == set(whole))
    for arguments, words in (
            (['get', STRING, '--sort-by', 'versoin'],
             "no such column among TYPE, NAME, VERSION, AUTHORITY, PATH; did you mean 'VERSION'?"),
            (['get', '--sort-by', 'name:up'], 'COLUMN:asc, or COLUMN:desc'),
            (['get', '--sort-by', '-'], 'name a column'),
            (['get', '--sort-by', 'name', '-o', 'json'], '--sort-by is of tables'),
            (['watch', '--sort-by', 'name'], 'has no table to sort'),
            (['apply', '-f', 'x', '--no-headers'], 'has no table'),
            (['sign', '-f', 'x', '--key', 'k', '--key-id', 'i', '-o', 'wide'], 'has not this format')):
        check('nothing is printed', ctl(*arguments, status=2, err=words) == '')
    out = ctl('status', '--sort-by', 'resources', '--no-headers')
    check('tables that do not have the column stay', 'node ' in out and 'TYPE' not in out, out)


def check_terminal(test, ctl):
    """Rows do not wrap on a terminal, whatever they are made of, and are whole elsewhere."""
    ctl('apply', '-f', '-', stdin=greeting('r3', 'x'))
    whole = ctl('get', STRING)
    for columns in (40, 60, 79):
        out, status = ctl.on_terminal('get', STRING, columns=columns)
        lines = out.splitlines()
        check(f'{columns} columns', status == 0 and len(lines) == 5 and
              max(map(len, lines)) <= columns and '…' in lines[1], out)
    out, _ = ctl.on_terminal('get', STRING, columns=300)
    check('if there is room nothing is cut', out == whole, out)
    out, _ = ctl.on_terminal('get', STRING, '-o', 'wide', columns=40)
    check('nor with -o wide', out == ctl('get', STRING, '-o', 'wide'), out)
    out, _ = ctl.on_terminal('get', STRING, columns=300, environment={'COLUMNS': '50'})
    check('COLUMNS goes before it', max(map(len, out.splitlines())) <= 50, out)
    os.environ['COLUMNS'] = '50'
    check('but not for a pipe', ctl('get', STRING) == whole)
    del os.environ['COLUMNS']
    out, _ = ctl.on_terminal('watch', STRING, columns=30, until='…')
    check('lines of watch do not wrap', max(map(len, out.splitlines())) <= 30, out)


def check_own_session(ctl):
    """Who asks is not among those that he asks about."""
    out = ctl('status')
    check('nobody is connected', 'SESSIONS\nSESSION' not in out and
          re.search(r'\d s +0\n', out), out)
    check('no sessions', ctl('status', 'sessions') == 'none\n')
    check('no clients', ctl('clients') == 'none\n')
    for verb in ('status', 'clients'):
        check(f'{verb} --all has it', 'udpactl' in ctl(verb, '--all'))
        left = [one for one in json.loads(ctl(verb, '-o', 'json'))
                if one['resource']['@type'].endswith('.SessionStatus')]
        check('  and JSON has not', left == [], left)
    check('with another node id', 'me' in ctl('--node-id', 'me', 'clients', '--all') and
          ctl('--node-id', 'me', 'status', 'sessions') == 'none\n')


def check_jsonpath(test, ctl):
    """It takes out of the document that -o json prints, whatever the verb."""
    names = '{range [*]}{.name}{"\\n"}{end}'
    out = ctl('get', STRING, '-o', f'jsonpath={names}')
    check('of get', out == ''.join(f"{one['name']}\n" for one in json.loads(
        ctl('get', STRING, '-o', 'json'))) and 'local/r1\n' in out, out)
    check('a last line ends', ctl('get', STRING, 'r1', '-o', 'jsonpath={[0].name}') == 'local/r1\n')
    check('nothing is nothing', ctl('get', STRING, 'r1', '-o', 'jsonpath={[0].none}') == '')
    for arguments, path, wanted in (
            (['status'], '{[*].resource.nodeId}', 'node'),
            (['clients', '--all'], '{[*].resource.peerNodeId}', 'udpactl'),
            (['get', STRING, 'r1', '--all-origins'], '{[0].resource.contributions[*].origin}',
             'publisher:/udpactl'),
            (['wait', STRING, 'r1'], '{[*].result}', 'acknowledged'),
            (['bench', '--idle', '--streams', '2', '--connections', '2'], '{.connect.connections}', '2')):
        out = ctl(*arguments, '-o', f'jsonpath={path}')
        check(f'of {arguments[0]}', out == f'{wanted}\n', out)
    watch = test.start('watch-jsonpath', [*ctl.command, 'watch', STRING, '-o',
                                          'jsonpath={.event} {.resource.name}'])
    watch.wait_for_log('added local/r1\n'.strip())
    ctl('apply', '-f', '-', stdin=greeting('r1', 'changed'))
    watch.wait_for_log('changed local/r1')
    check('watch ends', test.interrupt(watch) == 0, watch.text())
    for path, words in (('.items', 'character 1: nothing is in braces'),
                        ('{.items[?(@.x)]}', 'character 9: a filter is not supported'),
                        ('{.items[*].name}', 'character 2: this is a field, and there is a list')):
        check('nothing is printed', ctl('get', STRING, '-o', f'jsonpath={path}', status=2,
                                        err=words) == '')
    ctl('get', '-o', 'jsonpath', status=2, err='give an expression')
    ctl('events', 'tap', '-o', 'jsonpath={.x}', status=2, err='lines of JSON')
    ctl('replicas', 'rebalance', '-o', 'json', status=2, err='one form of output')
    ctl('apply', '-f', '-', stdin=greeting('escape', ESCAPE + 'a\nb'))
    path = 'jsonpath={[0].resource.value}'
    check('a program gets what there is', ctl('get', STRING, 'escape', '-o', path) == f'{ESCAPE}a\nb\n')
    out, _ = ctl.on_terminal('get', STRING, 'escape', '-o', path, columns=80)
    check('a terminal gets it masked', out == '?[2Ja\nb\n', out)
    ctl('delete', STRING, 'escape')


def check_progress(test, ctl):
    """wait says on a terminal how far it is, in one line that is gone at the end."""
    ctl('apply', '-f', '-', stdin=greeting('awaited', 'x'))
    wait = ['wait', STRING, 'awaited', '--at-least', '2']
    out, status = ctl.on_terminal(*wait, '--timeout', '1.5', columns=80, only='stderr')
    lines = out.split('\r\x1b[K')
    check('how far it is', status == 4 and '0 of at least 2 clients acknowledge' in lines, repr(out))
    check('nothing is left of it', lines[-1] == '' and '\n' not in out, repr(out))
    out, _ = ctl.on_terminal(*wait, '--timeout', '1.5', columns=20, only='stderr')
    check('it does not wrap', '0 of at least 2 cl…' in out.split('\r\x1b[K'), repr(out))
    out, _ = ctl.on_terminal(*wait, '--timeout', '1.5', columns=80)
    check('the result stands on a line of its own', '\r\x1b[Kgoogle.protobuf.StringValue local/awaited: '
          in out, repr(out))
    out, _ = ctl.on_terminal(*wait, '--timeout', '1.5', columns=80, environment={'TERM': 'dumb'})
    check('a dumb terminal has none', '\x1b' not in out and '\r' not in out, repr(out))
    done = ctl.run(*wait, '--timeout', '1')
    check('without a terminal there is none', done.returncode == 4 and done.stderr == '', done)
    watch = test.start('watch-awaited', [*ctl.command, 'watch', STRING])
    watch.wait_for_log('local/awaited')
    path = test.work / 'awaited.yaml'
    path.write_text(greeting('awaited', 'y'))
    out, status = ctl.on_terminal('apply', '--wait', '-f', path, columns=80, only='stderr')
    check('apply --wait, too', status == 0 and 'clients acknowledge' in out and
          out.endswith('\r\x1b[K'), repr(out))
    watch.kill()


def check_connection(test, address):
    """Options of the connection go with each verb, before it and behind it, used or not."""
    program = str(test.build / 'udpactl')
    options = ['--server', address, '--http', address, '--admin', address, '--admin-token', '/proc/no',
               '--timeout', '3', '--node-id', 'udpactl',
               '--descriptors', str(test.build / 'proto' / 'udpa.descriptors')]
    tls = ['--ca', '/proc/no', '--cert', '/proc/no', '--key', '/proc/no', '--server-name', 'x']
    path = test.work / 'one.yaml'
    path.write_text(greeting('one', 'x'))
    verbs = [['apply', '-f', path], ['get'], ['status'], ['clients'], ['wait', STRING, 'one'],
             ['watch', STRING], ['validate', path], ['delete', '--dry-run', '--origin', 'x'],
             ['sign', '-f', path, '--key', '/none', '--key-id', 'x'],
             ['verify', '-f', path, '--trusted', 'a/b=/none'], ['conform', '--list'],
             ['bench', '--idle', '--streams', '1'], ['auth', 'can-i', 'x', 'admin', STRING, 'one'],
             ['runtime', 'get'], ['sources', 'accept', 'x'], ['events', 'tap'],
             ['xds', 'get', STRING], ['delete', STRING, 'one']]
    for words in ([str(word) for word in verb] for verb in verbs):
        for line in (options + words, words + options, options + tls + words, words + tls + options):
            if words[0] == 'watch' and tls[0] not in line:
                continue # goes on
            done = subprocess.run([program, *line], capture_output=True, text=True, check=False,
                                  timeout=30)
            check(f'udpactl {" ".join(line)} is understood', 'Try `udpactl' not in done.stderr and
                  'Usage:' not in done.stderr, done)
            if tls[0] not in line and words[0] in ('apply', 'get', 'status', 'clients', 'conform'):
                check('  and works', done.returncode == 0, done)
            if words[0] == 'validate':
                check('  and works', done.returncode == 0, done)


def body(test):
    _, address = test.start_node()
    ctl = Ctl(test, address)
    if test.arguments.variant == 'more':
        check_own_session(ctl)
        check_progress(test, ctl)
        check_connection(test, address)
        return
    check_masked(test, ctl)
    check_order(test, ctl)
    check_terminal(test, ctl)
    check_jsonpath(test, ctl)


if __name__ == '__main__':
    PARSER = argparse.ArgumentParser(description=__doc__)
    sys.exit(main(PARSER, body, ('usual', 'more')))
