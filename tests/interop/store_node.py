# SPDX-License-Identifier: Apache-2.0
"""A udpad that has a store, and udpactl at it: it keeps its addresses and its directory when it is
started again."""
import json
import subprocess

import interop
import udpactl
from interop import Failure, check, free_ports

NODE_ID = 'edge'


class Controlled(interop.Node):
    """A node at self.address, by self.test."""
    how = () # udpactl reaches it

    def run_ctl(self, *words):
        """udpactl, when it has ended."""
        return subprocess.run([str(word) for word in (
            self.test.build / 'udpactl', '--server', self.address, *self.how, '--descriptors',
            udpactl.descriptors(self.test), *words)], capture_output=True, text=True, check=False,
            timeout=udpactl.PATIENCE_S)

    def ctl(self, *words):
        """Its exit status, and what it has printed."""
        done = self.run_ctl(*words)
        return done.returncode, done.stdout + done.stderr

    def take(self, *words):
        """Runs udpactl, which must succeed."""
        status, text = self.ctl(*words)
        if status:
            raise Failure(f'udpactl {" ".join(map(str, words))} at {self.name}: {status}: {text}')
        return text

    def refuse(self, *words):
        """Runs udpactl, which must not; what it has printed."""
        status, text = self.ctl(*words)
        check(f'{self.name} refuses {words[0]}', status == udpactl.REFUSED or print(text))
        return text

    def end(self):
        self.stop()
        self.test.processes.remove(self)


class StoreNode(Controlled):
    """It serves HTTP, too. It starts in a directory of its own: relative paths are those of other
    hosts."""

    def __init__(self, test, cluster, name, port=None):
        self.test, self.cluster, self.name = test, cluster, name
        self.port, self.http = port or free_ports(1)[0], free_ports(1)[0]
        self.address, self.how = f'127.0.0.1:{self.port}', ('--admin', f'unix:{test.work / name}/data/admin.sock')
        self.home = test.work / name
        self.directory = self.home / 'data'
        self.home.mkdir(exist_ok=True)

    def write(self, prefix=None, store=None, **sections):
        """The bootstrap file. A replica has a prefix of keys."""
        engine = {'engine': 'ETCD', 'prefix': prefix, 'endpoints': self.cluster.endpoints} if prefix else {}
        (self.home / 'udpad.yaml').write_text(json.dumps({
            'node': {'id': NODE_ID},
            'http': {'admin_pages': True, 'sockets': [{'address': f'127.0.0.1:{self.http}', 'insecure': True}]},
            'store': {'directory': str(self.directory), **engine, **(store or {})},
            **sections}), encoding='utf-8')

    def start(self):
        interop.Process.__init__(self, ['env', '-C', self.home, self.test.build / 'udpad', '-c',
                                        'udpad.yaml', '--listen', self.address],
                                 self.test.work / f'{self.name}.log')
        self.test.processes.append(self)

    def replicas(self):
        """Each replica by its address, as this one sees it."""
        listed = json.loads(self.take('status', 'replicas', '-o', 'json'))
        return {one['resource'].get('address', '').rsplit(' ', 1)[-1]: one['resource'] for one in listed}
