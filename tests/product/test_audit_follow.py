#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""udpactl audit --follow: each record once and in order, over many at a time, a node that is killed, one that hangs, one
that answers nonsense, and one whose database is another; until a signal, and then in peace."""
import argparse
import http.server
import json
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.parse

from product import PATIENCE_S, check, main, wait_for
from test_audit import MISTAKE, REFUSED, STRING, Node, resource_of

MANY = 2500  # more than two pages
LONG = 'com.acme/b-with-a-name-that-is-longer-than-most'


class Follower:
    """What it prints, and what it notes, in two files."""

    def __init__(self, test, name, admin, *options):
        self.name, self.out, self.notes = name, test.work / f'{name}.out', test.work / f'{name}.notes'
        with self.out.open('w') as out, self.notes.open('w') as notes:
            self.process = subprocess.Popen([str(part) for part in (
                test.build / 'udpactl', '--admin', admin, 'audit', '--follow', *options)], stdout=out, stderr=notes)
        test.processes.append(self)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def text(self):
        return self.out.read_text()

    def has_noted(self, words):
        return words in self.notes.read_text()

    def records(self):
        return [json.loads(line) for line in self.text().splitlines()]

    def names(self):
        return [one['name'] for one in self.records()]

    def end(self, number):
        self.process.send_signal(number)
        check(f'{self.name} ends in peace', self.process.wait(PATIENCE_S) == 0, self.notes.read_text())


def follow(test, node, name, *options):
    return Follower(test, name, f'unix:{test.work}/{node.name}.sock', *options)


def publish_many(node, n):
    node.ctl('apply', '-f', '-', text='---\n'.join(resource_of(f'com.acme/r{i:04}', 'x') for i in range(n)))


def test_forms(test, node):
    node.publish('com.acme/a', '1')
    node.publish(LONG, '1')
    everything = follow(test, node, 'everything', '-o', 'json')
    table, wide = follow(test, node, 'table'), follow(test, node, 'wide', '-o', 'wide', '--no-headers')
    last = follow(test, node, 'last', '--limit', '1', '-o', 'jsonpath={.name}')
    recent = follow(test, node, 'recent', '--since', '1h', '--name', '*/a', '-o', 'json')
    some = follow(test, node, 'some', '--name', 'com.acme/c*', '--identity', 'udpactl', '-o', 'json')
    wait_for('what is there', lambda: everything.names() == ['com.acme/a', LONG] and recent.names() == ['com.acme/a'] and
             table.text().count('com.acme/') == wide.text().count('com.acme/') == 2 and last.text() == f'{LONG}\n')
    check('of what fits', not some.records(), some.text())
    node.publish('com.acme/c-and-more', '1')
    wait_for('then what comes', lambda: everything.names()[2:] == some.names() == ['com.acme/c-and-more'] and
             table.text().count('com.acme/') == wide.text().count('com.acme/') == 3 and
             last.text() == f'{LONG}\ncom.acme/c-and-more\n')
    lines = table.text().splitlines()
    columns = [lines[0].index(head) for head in ('NAME', 'VERSION', 'RULE')]
    check('one head, and the columns under it', len(lines) == 4 and
          all(line[at - 1] == ' ' != line[at] for line in lines for at in columns), table.text())
    check('no head where none is asked for', 'NAME' not in wide.text())
    check('nothing that does not fit', len(recent.records()) == 1, recent.text())
    for number, one in enumerate((table, wide, last, recent, some)):
        one.end(signal.SIGTERM if number % 2 else signal.SIGINT)
    return everything


def test_outage(test, node, everything):
    """Killed, started again: each record once, in order."""
    publish_many(node, MANY)
    wait_for('many at once', lambda: len(everything.records()) == 3 + MANY)
    silent = follow(test, node, 'silent', '--name', 'org.other/*', '-o', 'json')
    node.publish('com.acme/d', '1')
    wait_for('one that does not fit is passed over', lambda: len(everything.records()) == 4 + MANY)
    node.kill()
    wait_for('the loss is noted', lambda: everything.has_noted('is asked again') and silent.has_noted('is asked again'))
    node.start()
    node.publish('com.acme/e', '1')
    node.publish('org.other/e', '1')
    wait_for('it goes on', lambda: everything.names()[-2:] == ['com.acme/e', 'org.other/e'])
    wait_for('with what fits', lambda: silent.names() == ['org.other/e'])
    check('each once', [one['seq'] for one in everything.records()] == list(range(1, 7 + MANY)))
    check('it is noted', everything.has_noted('answers again'), everything.notes.read_text())
    check('as one loss', everything.notes.read_text().count('cannot ask') == 1, everything.notes.read_text())
    silent.end(signal.SIGINT)


def test_other_database(test, node, everything):
    n = len(everything.records())
    node.kill()
    shutil.copytree(node.data, test.work / 'backup')
    node.start()
    node.publish('com.acme/lost', '1')
    wait_for('a record that a backup has not', lambda: everything.names()[n:] == ['com.acme/lost'])
    node.kill()
    shutil.rmtree(node.data)
    (test.work / 'backup').rename(node.data)
    node.start()
    wait_for('the backup is seen', lambda: everything.has_noted(f'ends at record {n} now'))
    node.publish('com.acme/after', '1')
    wait_for('and followed', lambda: everything.names()[n:] == ['com.acme/lost', 'com.acme/after'])
    node.kill()
    shutil.rmtree(node.data)
    node.start()
    node.publish('com.acme/new', '1')
    wait_for('a new database is followed from its beginning', lambda: everything.names()[n:] ==
             ['com.acme/lost', 'com.acme/after', 'com.acme/new'] and everything.records()[-1]['seq'] == 1)
    check('which is noted', everything.has_noted('another audit'), everything.notes.read_text())


def test_signals(test, node, everything):
    everything.end(signal.SIGINT)
    hangs = Script(None), Script((200, page(newest=1), 0), None)
    for script in hangs:
        waiting = Follower(test, 'waiting', script.address, '--timeout', '600')
        wait_for('it waits for an answer', lambda script=script: len(script.asked) and not script.answers)
        waiting.end(signal.SIGINT)
        script.is_over.set()
    lost = follow(test, node, 'lost')
    wait_for('it follows', lambda: 'com.acme/new' in lost.text())
    node.kill()
    wait_for('the loss', lambda: lost.has_noted('is asked again'))
    lost.end(signal.SIGTERM)
    check('a node that was never there is an error', Follower(
        test, 'never', f'unix:{test.work}/never.sock').process.wait(PATIENCE_S) == 3)


def test_refused(test, node):
    for what, words in ((('audit', '--follow', '--sort-by', 'name'), '--sort-by cannot sort'),
                        (('audit', 'verify', node.file, '--follow'), 'checks files as they are'),
                        (('get', '--follow'), '--follow goes with audit, events and explain')):
        text = node.ctl(*what, status=MISTAKE)
        check('with the reason', words in text, text)
    off = Node(test, 'off', {'audit': {'off': True}})
    check('nothing to follow', 'audit.off' in off.ctl('audit', '--follow', status=REFUSED))


class Script(http.server.ThreadingHTTPServer):
    """Answers with what it was given, one after the other (None: not at all); then with nothing new."""

    def __init__(self, *answers):
        super().__init__(('127.0.0.1', 0), Answer)
        self.answers, self.asked, self.is_over = list(answers), [], threading.Event()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def address(self):
        return '{}:{}'.format(*self.server_address)


class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query)))
        answer = self.server.answers.pop(0) if self.server.answers else (200, page(newest=9), 0)
        if not answer:
            self.server.is_over.wait()
            return
        status, text, n_more = answer
        self.send_response(status)
        self.send_header('Content-Length', str(len(text) + n_more))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


def page(*numbers, table='one', newest=0, more=''):
    records = ',\n'.join(json.dumps({'seq': number, 'name': f'n{number}'}) for number in numbers)
    return f'{{"records":[\n{records}\n],"table":"{table}","newest":{newest}{more}}}\n'.replace('\n\n', '\n')


def test_addresses(test):
    """Another node has other records: it is not asked instead."""
    first, other = Script((200, page(1, newest=1), 0)), Script()
    follower = Follower(test, 'addresses', f'{first.address},{other.address}', '-o', 'json')
    wait_for('the first one has answered', lambda: len(first.asked) >= 2)
    first.shutdown()
    first.server_close()
    wait_for('it is waited for', lambda: follower.has_noted('is asked again'))
    check('the other one is not asked', not other.asked, other.asked)
    follower.end(signal.SIGTERM)


def test_no_progress(test):
    """A node that promises more, and sends nothing, is asked no oftener than others."""
    script = Script((200, page(newest=1), 0), *[(200, page(newest=1, more=',"next":1'), 0)] * 100)
    begin = time.monotonic()
    follower = Follower(test, 'no-progress', script.address)
    wait_for('it goes on', lambda: len(script.asked) >= 4)
    check('once a second', time.monotonic() - begin >= 3)
    follower.end(signal.SIGINT)


def test_answers(test):
    """A connection that ends within an answer, a node that cannot answer: what it had not sent whole comes again."""
    cut = page(4, 5, newest=5)
    script = Script((200, page(3, 2, newest=3), 0), (200, cut[:30], len(cut) - 30), (503, 'not now\n', 0),
                    (200, page(4, newest=4, more=',"next":4'), 0), (200, page(5, newest=5), 0),
                    (200, page(newest=9), 0))
    follower = Follower(test, 'answers', script.address, '-o', 'json')
    wait_for('all has come', lambda: len(script.asked) >= 7)
    check('each once, in order', follower.names() == ['n2', 'n3', 'n4', 'n5'], follower.text())
    places = [(one.get('after'), one.get('table')) for one in script.asked]
    check('it asks from where it is', places[:7] == [(None, None), ('3', 'one'), ('3', 'one'), ('3', 'one'), ('4', 'one'),
                                                     ('5', 'one'), ('9', 'one')], places)
    check('one loss', follower.notes.read_text().count('is asked again') == 1, follower.notes.read_text())
    follower.end(signal.SIGTERM)
    test_addresses(test)
    test_no_progress(test)
    for what, answer, words in (
            ('nonsense', (200, 'x\n', 0), 'cannot be read'), ('one that denies it', (403, 'no\n', 0), 'has answered 403'),
            ('an older node', (200, '{"records":[\n]}\n', 0), 'cannot be read'),
            ('no number', (200, page(newest='"x"'), 0), 'cannot be read'),
            ('a table with a long name', (200, page(table='x' * 32), 0), 'cannot be read')):
        for script in (Script(answer), Script((200, page(newest=1), 0), answer)):
            follower = Follower(test, 'odd', script.address, '-o', 'json')
            check(f'{what} ends it', follower.process.wait(PATIENCE_S) == REFUSED)
            check('with the reason', follower.has_noted(words), follower.notes.read_text())


def body(test):
    test_answers(test)
    node = Node(test, 'followed', {})
    everything = test_forms(test, node)
    test_outage(test, node, everything)
    test_other_database(test, node, everything)
    test_refused(test, node)
    test_signals(test, node, everything)


if __name__ == '__main__':
    sys.exit(main(argparse.ArgumentParser(description=__doc__), body))
