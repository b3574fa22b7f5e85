#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Completion of udpactl by a real shell: commands, options, types and names of the node; nothing that a node sends is
carried out or shown as it is; no error is shown. Variants: bash, zsh, fish; one that is not installed is skipped."""
import argparse
import os
import pty
import re
import select
import shutil
import socket
import subprocess
import sys
import time

from product import Failure, Skipped, check, main

STRING = 'google.protobuf.StringValue'
PATIENCE_S = 30
EVIL = 'com.acme/evil$(touch made)'


class Terminal:
    """A shell with a terminal."""

    def __init__(self, test, command, variables):
        self.text = ''
        self.primary, secondary = pty.openpty()
        self.process = subprocess.Popen(command, stdin=secondary, stdout=secondary, stderr=secondary, cwd=test.work,
                                        start_new_session=True, env={**os.environ, 'TERM': 'xterm', **variables})
        os.close(secondary)

    def read(self):
        if select.select([self.primary], [], [], 0.05)[0]:
            try:
                self.text += os.read(self.primary, 65536).decode(errors='replace')
            except OSError:
                pass
        return re.sub(r'\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|\x07', '', self.text).replace('\r', '')

    def wait(self, part):
        end = time.monotonic() + PATIENCE_S
        while part not in self.read():
            if time.monotonic() > end:
                raise Failure(f'{part} is not shown: {self.text!r}')
        return self.read()

    def type(self, keys, part):
        """What is shown from these keys on, until this is part of it."""
        self.text = ''
        os.write(self.primary, keys.encode())
        return self.wait(part)

    def end(self):
        os.close(self.primary)
        self.process.kill()
        self.process.wait()


class Shell:
    def __init__(self, test, address):
        self.test, self.address = test, address
        self.udpactl = test.build / 'udpactl'
        self.script = test.work / 'script'
        self.script.write_text(subprocess.run([self.udpactl, 'completion', test.arguments.variant], text=True, check=True,
                                              capture_output=True).stdout)
        programs = test.work / 'programs'
        programs.mkdir()
        (programs / 'udpactl').symlink_to(self.udpactl)
        self.variables = {'PATH': f'{programs}:{os.environ["PATH"]}', 'UDPACTL_SERVER': address, 'HOME': str(test.work),
                          'XDG_CONFIG_HOME': str(test.work / 'config'), 'XDG_DATA_HOME': str(test.work / 'data')}

    def run(self, command, **variables):
        done = subprocess.run(command, text=True, capture_output=True, check=False, timeout=60, cwd=self.test.work,
                              env={**os.environ, **self.variables, **variables})
        check('  without an error', done.stderr == '', done.stderr)
        return done.stdout.splitlines()


class Bash(Shell):
    CALL = r'''
source ./script
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_POINT=${#COMP_LINE}
_udpactl udpactl "${COMP_WORDS[-1]}"
printf '%s\n' "${COMPREPLY[@]}"
'''

    def complete(self, line, **variables):
        words = [part for word in re.split(r'\s+', line) for part in re.findall(r'[=:]|[^=:]+', word) or ['']]
        return self.run(['bash', '-c', self.CALL, 'bash', *words], COMP_LINE=line, **variables)

    def terminal(self):
        shell = Terminal(self.test, ['bash', '--norc', '-i'], {**self.variables, 'PS1': '> ', 'INPUTRC': '/dev/null'})
        shell.wait('> ')
        shell.type('source ./script; echo rea""dy\n', 'ready')
        return shell


class Zsh(Shell):
    complete = None

    def terminal(self):
        shell = Terminal(self.test, ['zsh', '-f', '-i'], {**self.variables, 'PS1': '> ', 'ZDOTDIR': str(self.test.work)})
        shell.wait('> ')
        shell.type('unsetopt zle_bracketed_paste; autoload -Uz compinit; compinit -u -d compdump; source ./script; '
                   'echo rea""dy\n', 'ready')
        return shell


class Fish(Shell):
    def complete(self, line, **variables):
        return [part.split('\t')[0] for part in
                self.run(['fish', '--no-config', '-c', f'source ./script; complete -C "{line}"'], **variables)]

    def terminal(self):
        return None


SHELLS = {'bash': Bash, 'zsh': Zsh, 'fish': Fish}


def check_candidates(shell, address):
    for line, expected in (
            ('udpactl exp', ['explain']),
            ('udpactl completion ', ['bash', 'fish', 'zsh']),
            ('udpactl get clus', ['cluster']),
            ('udpactl --timeout 3 xds watch cl', ['cluster']),
            ('udpactl get -o jso', ['json', 'jsonpath=']),
            ('udpactl apply --pr', ['--prune']),
            ('udpactl get --all-', ['--all-origins']),
            ('udpactl conform --aut', ['--authority']),
            ('udpactl config u', ['use']),
            ('udpactl config use ', ['lab', 'prod']),
            ('udpactl get --context pr', ['prod']),
            ('udpactl get google.protobuf.St', [STRING]),
            (f'udpactl get {STRING} com.acme/fr', ['com.acme/front']),
            (f'udpactl get {STRING} -n com.acme com.acme/b', ['com.acme/back']),
            (f'udpactl get {STRING} com.acme/back com.acme/fr', ['com.acme/front']),
            (f'udpactl explain {STRING} com.acme/front ', []),
            (f'udpactl get --server 127.0.0.1:1 {STRING} com.acme/fr', []),
            (f'udpactl get --timeout no {STRING} com.acme/fr', []),
            ('udpactl get nothing com', []),
            ('udpactl nothing ', [])):
        found = shell.complete(line)
        check(f'{line}: {expected}', sorted(filter(None, found)) == expected, found)
    found = shell.complete(f'udpactl --server={address} get {STRING} com.acme/')
    check('names that no terminal must be given are left out', len(found) == 3, found)


def check_patience(test, shell):
    """Of a server that takes connections and never answers, and of a node that waits for its source itself."""
    config = {'node': {'id': 'below'}, 'store': {'directory': str(test.work / 'below-data')}}
    _, waiting = test.start_below('below', config, '127.0.0.1:1', [f'type.googleapis.com/{STRING}'])
    with socket.create_server(('127.0.0.1', 0)) as silent:
        for address in (f'127.0.0.1:{silent.getsockname()[1]}', waiting):
            begin = time.monotonic()
            found = shell.complete(f'udpactl --server {address} --timeout 60 get {STRING} com')
            took = time.monotonic() - begin
            check('a node that does not answer is not waited for long', not any(found) and took < 20, (found, took))


def check_bash(shell, address):
    check('behind = the rest alone', shell.complete('udpactl get --output=js') == ['json', 'jsonpath='])
    check('behind : too', shell.complete(f'udpactl get {STRING} org.acme/port:8') == ['80\\?a=b'],
          shell.complete(f'udpactl get {STRING} org.acme/port:'))
    check('a name is quoted', shell.complete(f'udpactl get {STRING} com.acme/ev') == [r'com.acme/evil\$\(touch\ made\)'],
          shell.complete(f'udpactl get {STRING} com.acme/ev'))
    terminal = shell.terminal()
    terminal.type('udpactl --server=' + address + f' get {STRING} com.acme/f\t', 'com.acme/front ')
    shown = terminal.type('\x15udpactl get --output=ya\t', 'yaml ')
    check('it is put where the cursor is', '--output=yaml ' in shown, shown)
    shown = terminal.type(f'\x15echo do"n"e; udpactl get {STRING} com.acme/ev\t', 'made')
    check('  quoted', r'com.acme/evil\$\(touch\ made\)' in shown, shown)
    terminal.type('\n', 'done')
    terminal.type('exit\n', 'exit')
    terminal.end()


def check_zsh(shell):
    terminal = shell.terminal()
    for keys, part in (('udpactl exp\t', 'udpactl explain '),
                       ('udpactl get clus\t', 'udpactl get cluster '),
                       ('udpactl apply --pru\t', 'udpactl apply --prune '),
                       ('udpactl config use pr\t', 'udpactl config use prod '),
                       (f'udpactl get {STRING} com.acme/f\t', 'com.acme/front '),
                       (f'udpactl get {STRING} org.acme/port:\t', r'org.acme/port:80\?a=b'),
                       (f'udpactl get {STRING} com.acme/evil\\$\t', r'com.acme/evil\$\(touch\ made\)'),
                       ('udpactl apply -f scr\t', 'udpactl apply -f script ')):
        shown = terminal.type('\x15' + keys, part)
        check(f'{keys.strip()}: {part}', part in shown)
    check('what it means is shown beside it', 'a server of xDS' in terminal.type('\x15udpactl conf\t\t', 'a server of xDS'))
    terminal.end()


def body(test):
    name = test.arguments.variant
    if not shutil.which(name):
        if os.environ.get('UDPA_REQUIRE_PEERS') == '1':
            raise Failure(f'{name} is not installed')
        raise Skipped(f'{name} is not installed')
    node, address = test.start_node()
    shell = SHELLS[name](test, address)
    resources = ''.join(f'---\nname: "{one}"\nresource:\n  "@type": type.googleapis.com/{STRING}\n  value: "x"\n'
                        for one in ('com.acme/front', 'com.acme/back', EVIL, r'com.acme/\e[31m', 'org.acme/port:80?a=b'))
    subprocess.run([test.build / 'udpactl', '--server', address, 'apply', '-f', '-'], input=resources, text=True,
                   capture_output=True, check=True)
    for context in ('lab', 'prod'):
        shell.run([shell.udpactl, 'context', 'set', context, '--server', '127.0.0.1:1'])
    if shell.complete:
        check_candidates(shell, address)
        check_patience(test, shell)
    if name == 'bash':
        check_bash(shell, address)
    if name == 'zsh':
        check_zsh(shell)
    check('nothing of a name was carried out', not (test.work / 'made').exists())
    check('the node ends well', test.interrupt(node) == 0, node.text())


if __name__ == '__main__':
    sys.exit(main(argparse.ArgumentParser(description=__doc__), body, tuple(SHELLS)))
