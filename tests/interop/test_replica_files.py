#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Replicas that each read a directory of their own, of which most must agree: a new checkout is used
when most replicas have it, on all of them, and one that has another one is reported."""
import json
import sys
import time
import urllib.request

from interop import check, never, run, wait_for

from etcd import Cluster, program_or_skip
from store_node import StoreNode
from xds_peer import CLUSTER, Client

WAIT_S = 3


class Replica(StoreNode):
    def __init__(self, test, cluster, name):
        super().__init__(test, cluster, name)
        (self.home / 'files').mkdir()
        self.check_out('1')
        self.write('/udpa/files', static_resources={
            'directories': [{'path': 'files', 'agree': 'REQUIRED'}]})
        self.start()

    def check_out(self, version):
        """The file appears at once, as a tool does it that distributes files."""
        new = self.home / 'new'
        new.write_text(json.dumps({'name': 'local/one', 'version': version, 'resource': {
            '@type': CLUSTER, 'name': 'one', 'alt_stat_name': f'v{version}'}}), encoding='utf-8')
        new.rename(self.home / 'files' / 'one.json')

    def files(self):
        """The digest of each replica, by its address, as this one sees it."""
        return {address: [files['digest'] for files in one.get('files', [])]
                for address, one in self.replicas().items()}

    def metric(self, name):
        with urllib.request.urlopen(f'http://127.0.0.1:{self.http}/stats/prometheus', timeout=10) as page:
            lines = dict(line.split(' ') for line in page.read().decode().splitlines() if line[0] != '#')
        return int(lines[f'udpa_replica_directories_{name}'])

    def served(self):
        """What a client receives that connects now; None: nothing yet."""
        with Client(self.address, timeout_s=WAIT_S) as client:
            client.send(CLUSTER)
            response = client.receive()
            values = [one.resource.value for one in response.resources] if response else []
            return next((version for version in '12' if f'v{version}'.encode() in b''.join(values)), None)


def wait_served(replica, version):
    wait_for(f'{replica.name} that serves {version}', lambda: replica.served() == version, 10)


def body(test):
    cluster = Cluster(test, program_or_skip(test, 'debian'), 1)
    a, b, c = replicas = [Replica(test, cluster, name) for name in 'abc']
    for one in replicas:
        one.wait_for_log('listening on ')
    for one in replicas:
        wait_served(one, '1')
    digests = a.files()
    check(f'all have read the same: {digests}', len(digests) == 3 and
          len({tuple(one) for one in digests.values()}) == 1 and digests[a.address])
    a.check_out('2')
    a.wait_for_log('what was read waits until most replicas have read the same, at most 60 s')
    wait_for('B that knows what A has read',
             lambda: b.files()[a.address] not in ([], digests[a.address]), 10)
    check('A shows that it waits', a.metric('waiting') == 1)
    never('something else than 1, where most have that',
          lambda: any(one.served() != '1' for one in replicas), 2)
    begin = time.monotonic()
    b.check_out('2')
    for one in (a, b):
        wait_served(one, '2')
    check(f'A and B serve what both have, after {time.monotonic() - begin:.1f} s', True)
    check('C serves what it has read', c.served() == '1')
    wait_for('C that reports it', lambda: c.metric('differing') == 1, 15)
    text = next(line for line in c.take('status').splitlines() if 'have read different files' in line)
    check(f'  in words: {text.strip()}', a.address in text and b.address in text)
    c.wait_for_log('replicas have read different files')
    c.check_out('2')
    wait_served(c, '2')
    for one in replicas:
        wait_for(f'{one.name} without that', lambda one=one: one.metric('differing') == 0, 10)
    check('nothing waits', not any(one.metric('waiting') for one in replicas))


if __name__ == '__main__':
    sys.exit(run(__doc__, body))
