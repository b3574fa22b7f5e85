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
        with subprocess.Popen([*self.command, *map(str, arguments)], stdin=subprocess.DEVNULL,
                              env={**environ, **dict(environment)}, **ends) as process:
            os.close(slave)
            out = self.read(master, process, until)
        os.close(master)
        return out.decode().replace('\r\n', '\n'), process.returncode

    @staticmethod
    def read(master, process, until):
        out, deadline = b'', time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                if select.select([master], [], [], 1)[0] and not (part := os.read(master, 65536)):
                    break
            except OSError: # the other end is closed
                break
            if not select.select([master], [], [], 0)[0] and not out and not part:
                continue
            out += part
            part = b''
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


def body(test):
    _, address = test.start_node()
    ctl = Ctl(test, address)
    check_masked(test, ctl)


if __name__ == '__main__':
    PARSER = argparse.ArgumentParser(description=__doc__)
    sys.exit(main(PARSER, body))
