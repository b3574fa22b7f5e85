#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Colors and progress of udpactl are for a terminal alone, and a dumb one has none; NO_COLOR turns colors off. All
commands are called, with a terminal and without."""
import argparse
import os
import pty
import re
import select
import subprocess
import sys
import time

from product import Failure, check, main

STRING = 'google.protobuf.StringValue'
PATIENCE_S = 60
COLOR = re.compile(r'\x1b\[[0-9;]*m')
ARGUMENTS = {
    'get': [STRING], 'watch': [STRING, '--timeout', '0.2'], 'explain': [STRING, 'com.acme/x'], 'client': ['nobody'],
    'top': ['--once', '--interval', '0.1'], 'events': ['node'], 'apply': ['-f', 'two.yaml'], 'diff': ['-f', 'one.yaml'],
    'delete': [STRING, 'com.acme/none'], 'wait': [STRING, 'com.acme/x', '--at-least', '1', '--timeout', '0.5'],
    'runtime': ['layers'], 'store': ['status'], 'backup': ['/proc/no/backup'], 'restore': ['/proc/no', '--state', 'none'],
    'freeze': [], 'thaw': [], 'sources': ['accept', 'x'], 'replicas': ['rebalance'], 'bug-report': ['-o', 'report.tar'],
    'validate': ['one.yaml'], 'auth': ['can-i', 'x', 'publish', STRING, 'com.acme/x'],
    'sign': ['-f', 'one.yaml', '--key', '/proc/no', '--key-id', 'k'], 'verify': ['-f', 'one.yaml'], 'context': ['list'],
    'bootstrap': ['envoy'], 'completion': ['bash'], 'conform': ['--list'], 'bench': ['--duration', 'no'],
    'xds': ['get', 'cluster', '--timeout', '0.5'],
}
ENDLESS = ('watch',)


class Udpactl:
    def __init__(self, test, address, admin):
        self.command = [test.build / 'udpactl', '--server', address, '--admin', admin]
        self.test = test

    def environment(self, variables):
        return {**os.environ, 'TERM': 'xterm', 'NO_COLOR': '', 'XDG_CONFIG_HOME': str(self.test.work / 'home'), **variables}

    def start(self, arguments, variables, **streams):
        return subprocess.Popen([str(part) for part in (*self.command, *arguments)], stdin=subprocess.DEVNULL,
                                cwd=self.test.work, env=self.environment(variables), **streams)

    def plain(self, *arguments, **variables):
        """What is printed without a terminal."""
        process = self.start(arguments, variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        text = os.read(process.stdout.fileno(), 65536)
        if arguments[0] in ENDLESS:
            process.terminate()
        return (text + process.communicate(timeout=PATIENCE_S)[0]).decode()

    def shown(self, *arguments, **variables):
        """On a terminal."""
        primary, secondary = pty.openpty()
        process = self.start(arguments, variables, stdout=secondary, stderr=secondary)
        os.close(secondary)
        text, end = b'', time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            if not select.select([primary], [], [], 1)[0]:
                continue
            try:
                part = os.read(primary, 65536)
            except OSError:
                break
            text += part
            if arguments[0] in ENDLESS:
                process.terminate()
        else:
            raise Failure(f'{arguments} does not end: {text!r}')
        process.wait(PATIENCE_S)
        os.close(primary)
        return text.decode().replace('\r\n', '\n')


def check_all(ctl, verbs):
    for verb in verbs:
        arguments = (verb, *ARGUMENTS.get(verb, ()))
        for what, text in (('without a terminal', ctl.plain(*arguments)), ('on a dumb one', ctl.shown(*arguments, TERM='dumb'))):
            check(f'{verb} {what}: neither colors nor progress', '\x1b' not in text and '\r' not in text, text)
        text = ctl.shown(*arguments, NO_COLOR='1')
        check(f'{verb} with NO_COLOR: no colors', not COLOR.search(text), text)


def check_terminal(ctl):
    text = ctl.shown('diff', '-f', 'one.yaml')
    check('what is removed and added has a color', '\x1b[31m-' in text and '\x1b[32m+' in text and '\x1b[36m@@' in text, text)
    check('  and is the same without', [line.split('\t')[0] for line in COLOR.sub('', text).splitlines()] ==
          [line.split('\t')[0] for line in ctl.plain('diff', '-f', 'one.yaml').splitlines()], text)
    text = ctl.shown('diff', '-f', 'one.yaml', UDPACTL_EXTERNAL_DIFF='diff -uN')
    check('a program of the user prints itself', not COLOR.search(text) and '@@' in text, text)
    text = ctl.shown('get', STRING, 'com.acme/none')
    check('an error begins in red', text.startswith('\x1b[1;31mudpactl:\x1b[0m there is no '), text)
    text = ctl.shown('wait', STRING, 'com.acme/x', '--at-least', '1', '--timeout', '0.5')
    check('progress is shown, and removed', '\r\x1b[K' in text and text.rstrip('\n').rsplit('\r\x1b[K', 1)[1].strip(), text)
    text = ctl.shown('top', '--interval', '0.1', '--once')
    check('a last block is not redrawn', '\x1b' not in text, text)


def body(test):
    node, address = test.start_node()
    admin = re.search(r'admin socket (unix:\S+)', node.wait_for_log('admin socket'))[1]
    for name, value in (('one', 1), ('two', 2)):
        (test.work / f'{name}.yaml').write_text(
            f'name: com.acme/x\nresource:\n  "@type": type.googleapis.com/{STRING}\n  value: "{value}"\n')
    ctl = Udpactl(test, address, admin)
    ctl.plain('apply', '-f', 'two.yaml')
    verbs = [line.split('\t')[0] for line in subprocess.run(
        [test.build / 'udpactl', '__complete', ''], text=True, capture_output=True, check=True).stdout.splitlines()[:-1]]
    check('all commands are known', len(verbs) > 30 and set(ARGUMENTS) <= set(verbs), verbs)
    check_all(ctl, [verb for verb in verbs if verb not in ('freeze', 'thaw', 'reload', 'restart')])
    check_terminal(ctl)
    check('the node ends well', test.interrupt(node) == 0, node.text())


if __name__ == '__main__':
    sys.exit(main(argparse.ArgumentParser(description=__doc__), body))
