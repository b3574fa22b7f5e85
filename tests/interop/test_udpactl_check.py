#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""udpactl check: nothing is found of a node that is well; then of one with a certificate that expires in three days,
a source that is not active, a worker that hangs, and a file that cannot be read, each with where, why and what to do."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys

import interop
from interop import SOURCE, check, wait_for
from stage import replace_file
from udpactl import GOOD, REFUSED, Ctl, write_cluster
from xds_peer import ENDPOINTS

MISTAKE, NO_CONNECTION = 2, 3


class Checked:
    """A node with HTTP, and udpactl that asks it."""

    def __init__(self, test, name, bootstrap, tls=()):
        path = test.work / f'{name}.json'
        path.write_text(json.dumps({'sockets': [{'address': '127.0.0.1:0'}], **bootstrap}), encoding='utf-8')
        self.node = interop.Node(test, name, port=None, bootstrap=path)
        self.http = '127.0.0.1:' + re.search(r'listening on 127\.0\.0\.1:(\d+) \([^)]*(?:REST|HTTP)',
                                             self.node.text())[1]
        self.ctl, self.tls = Ctl(test, self.node), tls

    def __call__(self, *arguments):
        """Its lines, without those about the disk of this machine; the exit status is that of all lines."""
        process = self.ctl.start('check', '--http', self.http, *self.tls, *arguments)
        out, err = process.communicate()
        levels = {line.split()[0] for line in out.splitlines()[:-1]}
        wanted = REFUSED if levels & ({'error', 'warning'} if '--strict' in arguments else {'error'}) else GOOD
        check(f'check {arguments}: exit status {process.returncode}\n{out}{err}', process.returncode == wanted and
              out and not err)
        return [line for line in out.splitlines()[:-1] if not re.match(r'\w+ +disk ', line)]

    def findings(self, *arguments):
        """{(level, what, where): (why, action)}; of several the reasons in one."""
        said = json.loads(self.ctl.ask('check', '--http', self.http, *self.tls, '-o', 'json', *arguments))
        found = {}
        for one in said['findings']:
            key = (one['level'], one['what'], one['where'])
            found[key] = (' '.join((*found.get(key, ())[:1], one['why'])), one['action'])
        levels = [one['level'] for one in said['findings']]
        check(f'they are counted: {said["errors"]}, {said["warnings"]}', [
            levels.count('error'), levels.count('warning')] == [said['errors'], said['warnings']])
        return {key: value for key, value in found.items() if key[1] != 'disk'}


def check_good(test):
    well = Checked(test, 'well', {'http': {'sockets': [{'address': '127.0.0.1:0'}]}})
    check('nothing is found of a node that is well', not well() and not well('--strict') and not well.findings())
    well.node.stop()
    out, err = well.ctl.start('check', '--http', well.http).communicate()
    check(f'a node that is not there is not well: {err}', not out and 'cannot' in err)
    well.ctl('check', '--http', well.http, status=NO_CONNECTION)
    well.ctl('check', 'edge', status=MISTAKE)
    well.ctl('status', '--strict', status=MISTAKE)


def start_bad(test, folder):
    """By TLS, with certificates of three days."""
    files = test.work / 'short'
    subprocess.run([SOURCE / 'certs' / 'make-development-ca', files, 'node', '--days', '3'], check=True)
    tls = {'certificate_file': f'{files}/node.crt', 'private_key_file': f'{files}/node.key'}
    dead, = interop.free_ports(1)
    bad = Checked(test, 'bad', {
        'workers': 1, 'sockets': [{'address': '127.0.0.1:0', 'tls': tls}],
        'http': {'sockets': [{'address': '127.0.0.1:0', 'tls': tls}]},
        'static_resources': {'directories': [{'path': str(folder)}],
                             'config_sources': [{'name': 'dead', 'udpa': {'address': f'127.0.0.1:{dead}'}}]},
        'providers': [{'types': [ENDPOINTS], 'config_descriptors': [{'resource_name': 'dead',
                                                                     'namespace': 'com.acme'}]}]}, ('--ca', files / 'ca.crt'))
    return bad


def check_bad(bad, folder):
    def find(key):
        found = wait_for(f'{key} is found', lambda: (lambda now: now if key in now else None)(bad.findings()))
        return found, *found[key]
    found, why, action = find(('error', 'source', 'dead'))
    check(f'the source is not active: {why}; {action}', why.startswith('is not active for ') and
          'server runs' in action)
    _, why, _ = find(('warning', 'resources', 'endpoint'))
    check(f'the type that waits for it is named: {why}', why.startswith('are pending: dead has not sent all'))
    for use in ('socket', 'http_socket'):
        why, action = found['error', 'certificate', use]
        check(f'its certificate expires soon: {why}; {action}', why == 'expires in 2 d 23 h' and
              action.startswith('replace its files'))
    replace_file(folder / 'bad.yaml', 'no: [yaml')
    wait_for('the file that cannot be read', lambda: 'bad.yaml' in bad.findings()['error', 'node', 'bad'][0])
    lines = bad()
    check('a line for each', any(re.match(r'error    source dead: is not active for .*; see that', line)
                                 for line in lines))
    levels = [line.split()[0] for line in lines]
    check('errors come first', levels == sorted(levels) and set(levels) == {'error', 'warning'})
    paths = bad.ctl.ask('check', '--http', bad.http, *bad.tls, '-o', 'jsonpath={.findings[*].why}')
    check(f'jsonpath takes what it takes of json: {paths}', paths.count('expires in') == 2)


def check_worker(bad):
    """Its only one, which serves status, too."""
    pid = bad.node.process.pid
    worker = int(pathlib.Path(f'/proc/{pid}/task/{pid}/children').read_text(encoding='ascii').split()[0])
    os.kill(worker, signal.SIGSTOP)
    try:
        text = wait_for('the worker that hangs', lambda: (lambda out: out if 'error    worker' in out else None)(
            bad.ctl.ask('check', '--http', bad.http, *bad.tls, '--timeout', '1')))
        check(f'it is reported: {text}', re.search(
            r'^error    worker 1: has not reported for 3 s: its clients receive nothing; the log', text, re.M))
        check('and that there is no status', re.search(
            r'^error    status 127.* cannot be read, so sources, .* not checked; give', text, re.M))
    finally:
        os.kill(worker, signal.SIGCONT)


def check_unread(bad):
    """Metrics that cannot be read: what was not checked may be what is wrong."""
    dead, = interop.free_ports(1)
    out = bad.ctl('check', '--http', f'127.0.0.1:{dead}', *bad.tls, status=REFUSED)
    check(f'that is an error, too: {out}', re.search(rf'^error    metrics 127.0.0.1:{dead}: cannot be read, so '
                                                     'certificates, clock, .* not checked; give', out, re.M))


def body(test):
    folder = test.work / 'files'
    folder.mkdir()
    replace_file(folder / 'web.json', write_cluster(test, 'web.json', 'web').read_text())
    check_good(test)
    bad = start_bad(test, folder)
    check_bad(bad, folder)
    check_worker(bad)
    check_unread(bad)
    bad.node.stop()


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body))
