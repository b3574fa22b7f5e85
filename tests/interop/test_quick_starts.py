#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The quick starts, as a reader follows them: README.md and docs/guide/quick-start-*.md. Each file is written as it
is printed, each command is run, and what should be seen is compared with what is printed.

A fenced block says behind its language what it is:

    yaml resource FILE, json FILE, ...  a file of this name; a name is a word with a dot
    sh                                  commands that end; a block of text behind them is what they print, where an
                                        ellipsis stands for anything. They are repeated until they print it
    sh terminal [NAME] [stops NAME...]  a command that goes on, in a terminal of its own. One with a name ends the one
                                        that had it, and those that it stops
    sh install                          not run: the test has what it installs

Ports are others than printed, so that several tests run at once."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys

import interop

sys.path.insert(0, str(interop.SOURCE / 'docs' / 'site'))

import markdown_page  # noqa: E402
from test_grpc_java import libraries_or_skip  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
GUIDE = interop.SOURCE / 'docs' / 'guide'
LANGUAGES = {'python': 'Python', 'go': 'Go', 'java': 'Java', 'cpp': 'C++'}
PAGES = {'readme': interop.SOURCE / 'README.md', 'envoy': GUIDE / 'quick-start-envoy.md',
         'mixed': GUIDE / 'quick-start-mixed.md',
         **{name: GUIDE / 'quick-start-grpc.md' for name in LANGUAGES}}
# The pages whose files another one uses.
FILES_OF = {'mixed': ('envoy', 'python')}
PORT = r'\b(?:[89]\d{3}|1\d{4})\b'
PATIENCE_S = 40


class Block:
    def __init__(self, block):
        self.section, self.words, self.text = block.section, block.info.split(), block.text
        self.file = next((word for word in self.words[1:] if '.' in word), None)


def blocks(page):
    return [Block(block) for block in markdown_page.blocks(page) if block.info != markdown_page.INDENTED]


def pattern_of(line):
    words = [re.escape(word).replace('…', '.*') for word in line.split()]
    return r'\s+'.join(words).replace(r'\s+.*\s+', r'\s.*\s')


class Reader:
    """A directory, the programs on PATH, and the terminals that are open."""

    def __init__(self, test, name):
        self.test = test
        self.work = test.work / 'reader'
        self.programs = test.work / 'programs'
        self.work.mkdir()
        self.programs.mkdir()
        self.terminals, self.exports = {}, ''
        self.blocks = [block for block in blocks(PAGES[name])
                       if block.section not in LANGUAGES.values() or block.section == LANGUAGES.get(name)]
        files = [block for other in FILES_OF.get(name, ()) for block in blocks(PAGES[other])
                 if block.file and not block.file.startswith('resources/')]
        text = ''.join(block.text for block in [*files, *self.blocks])
        printed = sorted(set(re.findall(PORT, text)))
        self.ports = dict(zip(printed, map(str, interop.free_ports(len(printed)))))
        for block in files:
            self.write(block)
        (self.programs / 'udpactl').symlink_to(test.build / 'udpactl')
        self.add_program('python3', f'exec {sys.executable} -u "$@"')
        self.add_program('udpad', 'case "$*" in *--listen*|*-c*) ;; '
                                  f'*) set -- --listen 127.0.0.1:{self.ports["18000"]} "$@" ;; esac; '
                                  f'exec {test.build / "udpad"} "$@"')

    def add_program(self, name, script):
        (self.programs / name).write_text(f'#!/bin/sh\n{script}\n', encoding='utf-8')
        (self.programs / name).chmod(0o755)

    def text_of(self, block):
        return re.sub(PORT, lambda number: self.ports.get(number[0], number[0]), block.text)

    def write(self, block):
        file = self.work / block.file
        file.parent.mkdir(exist_ok=True)
        file.write_text(self.text_of(block), encoding='utf-8')

    def shell(self, script):
        return ['sh', '-ec', f'cd {self.work}\n{self.exports}{script}']

    def environment(self):
        return {'PATH': f'{self.programs}:{os.environ["PATH"]}', 'UDPACTL_SERVER': f'127.0.0.1:{self.ports["18000"]}'}

    def open_terminal(self, block):
        names = [word for word in block.words[2:] if word != 'stops']
        for name in names:
            if name in self.terminals:
                self.stop(self.terminals.pop(name))
        name = names[0] if names else f'terminal-{len(self.terminals)}'
        command = self.text_of(block).strip()
        log = self.test.work / f'{name}.log'
        process = interop.Process(self.shell(f'exec {command}'), log, self.environment())
        self.test.processes.append(process)
        self.terminals[name] = process
        if command.startswith('udpad'):
            process.wait_for_log('listening on ')

    def stop(self, process):
        process.process.send_signal(signal.SIGINT)
        process.process.wait(PATIENCE_S)

    def run(self, block, shown):
        """Runs commands, until they print what is shown."""
        script = self.text_of(block)
        wanted = [pattern_of(line) for line in shown.splitlines()]
        last = []

        def look():
            done = subprocess.run(self.shell(script), env={**os.environ, **self.environment()}, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PATIENCE_S, check=False)
            last[:] = [done.stdout]
            if not wanted and done.returncode != 0:
                raise interop.Failure(f'{script}: {done.stdout}')
            return all(re.search(one, done.stdout) for one in wanted)

        try:
            interop.wait_for('what is printed', look, PATIENCE_S)
        except interop.Failure as failure:
            raise interop.Failure(f'{script}printed {"".join(last)!r}, not {shown!r}') from failure
        self.exports += ''.join(line + '\n' for line in script.splitlines() if line.startswith('export '))
        interop.check(f'{block.section}: {script.splitlines()[0]}', True)

    def follow(self):
        n_shown = 0
        for block, after in zip(self.blocks, [*self.blocks[1:], None]):
            shown = after.text if after and after.words == ['text'] else ''
            if block.file:
                self.write(block)
            elif block.words[:2] == ['sh', 'terminal']:
                self.open_terminal(block)
            elif block.words == ['sh']:
                n_shown += bool(shown)
                self.run(block, shown)
        interop.check('the page shows what should be seen', n_shown > 0)
        for process in self.terminals.values():
            if process.process.poll() is not None:
                raise interop.Failure(f'{process.log.name} has ended: {process.text()[-1000:]}')
            self.stop(process)


def add_envoy(reader):
    reader.add_program('envoy', f'exec {interop.envoy_or_skip()} --use-dynamic-base-id --concurrency 1 "$@"')


def add_go(reader):
    """The modules that the example needs are those of the client of the other tests."""
    go = pathlib.Path(interop.go_or_skip())
    interop.go_program_or_skip(HERE / 'go', reader.test.build / 'grpc-go-client')
    (reader.programs / 'go').symlink_to(go)
    for name in ('go.mod', 'go.sum'):
        shutil.copy(HERE / 'go' / name, reader.work)


def add_java(reader):
    (reader.work / 'lib').symlink_to(libraries_or_skip(reader.test.build / 'grpc-java-client'))


def add_cpp(_reader):
    if subprocess.run(['pkg-config', '--exists', 'grpc++'], check=False).returncode != 0:
        interop.skip('there is no grpc++ (libgrpc++-dev)')


ADD = {'readme': add_envoy, 'envoy': add_envoy, 'mixed': add_envoy, 'go': add_go, 'java': add_java, 'cpp': add_cpp}


def body(test):
    reader = Reader(test, test.variant)
    ADD.get(test.variant, lambda _: None)(reader)
    reader.follow()


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body, tuple(PAGES)))
