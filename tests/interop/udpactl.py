# SPDX-License-Identifier: Apache-2.0
"""udpactl as a process, and what 'udpactl wait' says."""
import json
import os
import pathlib
import subprocess

from google.protobuf import json_format

import envoy_peer
import interop

CLUSTER = 'type.googleapis.com/' + envoy_peer.TYPE_CLUSTER
PATIENCE_S = 90
GOOD, REFUSED, TIMED_OUT, SUPERSEDED = 0, 1, 4, 5


def descriptors(test):
    """Of Envoy's types, as .ci/test has them made."""
    found = pathlib.Path(os.environ.get('UDPA_ENVOY_DESCRIPTORS',
                                        test.build / 'envoy-v3.descriptors'))
    if not found.exists():
        interop.skip("Envoy's descriptor set is missing: src/codec/make-envoy-descriptors makes it")
    return found


class Ctl:
    def __init__(self, test, node):
        self.test = test
        self.command = [test.build / 'udpactl', '--server', node.address,
                        '--descriptors', descriptors(test)]

    def start(self, *arguments):
        return subprocess.Popen([str(part) for part in [*self.command, *arguments]], text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def finish(self, process, status):
        out, err = process.communicate(timeout=PATIENCE_S)
        words = ' '.join(process.args[5:])
        interop.check(f'udpactl {words}: exit status {process.returncode}\n{out}{err}',
              process.returncode == status)
        return out

    def ask(self, *arguments):
        """What it prints, whatever it returns."""
        return self.start(*arguments).communicate(timeout=PATIENCE_S)[0]

    def __call__(self, *arguments, status=GOOD):
        return self.finish(self.start(*arguments), status)

    def said(self, *arguments, status=GOOD):
        return json.loads(self('wait', '-o', 'json', *arguments, status=status))


def write(test, file, message):
    """A file with this resource."""
    fields = json_format.MessageToDict(message, preserving_proto_field_name=True)
    path = test.work / file
    path.write_text(json.dumps({'@type': 'type.googleapis.com/' + message.DESCRIPTOR.full_name,
                                **fields}), encoding='utf-8')
    return path


def write_cluster(test, file, name, timeout='1s'):
    return write(test, file, envoy_peer.static_cluster(name, timeout))


def states(said, index=0):
    """What each session has to do with one of the resources, by node id."""
    return {session['nodeId']: session['state'] for session in said[index]['sessions']}
