#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A node that gets no more memory: whether it refuses what comes, or a library ends the process,
nothing is lost that it has given a receipt for, and the next start serves it."""
import os
import re
import resource
import sys
import time

import interop
import udpa_peer
from google.protobuf import wrappers_pb2

STRING = 'google.protobuf.StringValue'
SIZE = 512 << 10
N_MAX = 1500
HEADROOM_MB = (40, 90, 150) # over what the node takes at its start
SANITIZER_STEP_S = 0.1      # so often the sanitizer looks at the limit


def memory_mb(node, field):
    status = open(f'/proc/{node.process.pid}/status', encoding='ascii').read()
    return int(re.search(rf'{field}:\s+(\d+) kB', status)[1]) >> 10


def start_limited(test, name, headroom_mb):
    """By the size of its address space; what sanitizers reserve has no bounds, so theirs is by what is in
    memory."""
    if not interop.is_instrumented(test.build):
        node = interop.Node(test, name)
        limit = (memory_mb(node, 'VmSize') + headroom_mb) << 20
        resource.prlimit(node.process.pid, resource.RLIMIT_AS, (limit, limit))
        return node
    probe = interop.Node(test, name)
    limit_mb = memory_mb(probe, 'VmRSS') + headroom_mb
    probe.stop()
    test.processes.remove(probe)
    given = os.environ.get('ASAN_OPTIONS', '')
    os.environ['ASAN_OPTIONS'] = f'{given}:allocator_may_return_null=1:soft_rss_limit_mb={limit_mb}'
    node = interop.Node(test, name)
    os.environ['ASAN_OPTIONS'] = given
    return node


def payload(i):
    return wrappers_pb2.StringValue(value=f'{i:08d}' * (SIZE // 8))


def publish_until_it_fails(test, node, receipted, begin):
    """Adds the numbers that a receipt was given for; what has become of the last one."""
    with udpa_peer.Peer(test.build, node.address) as peer:
        for i in range(begin, begin + N_MAX):
            try:
                peer.publish([(f'r{i}', payload(i))])
            except interop.Failure as failure:
                return i + 1, str(failure)
            receipted.append(i)
            if interop.is_instrumented(test.build) and i % 20 == 0:
                time.sleep(SANITIZER_STEP_S)
    raise interop.Failure(f'{N_MAX} resources of {SIZE} bytes went into {node.name}')


def check_all_there(test, name, receipted):
    node = interop.Node(test, name)
    with udpa_peer.Peer(test.build, node.address, node_id='reader') as reader:
        reader.schema.pool.AddSerializedFile(wrappers_pb2.DESCRIPTOR.serialized_pb)
        found = reader.collect(STRING, 'local')
    lost = [i for i in receipted if f'local/r{i}' not in found]
    interop.check(f'none of {len(receipted)} receipted resources is lost: {lost[:10]}', not lost)
    interop.check('each is whole', all(found[f'local/r{i}'].value == payload(i).value for i in receipted))
    node.stop()
    test.processes.remove(node)


def body(test):
    receipted, begin = [], 0
    for headroom_mb in HEADROOM_MB:
        n_before = len(receipted)
        node = start_limited(test, 'node', headroom_mb)
        begin, why = publish_until_it_fails(test, node, receipted, begin)
        ended = node.process.poll()
        print(f'{len(receipted) - n_before} were receipted within {headroom_mb} MB; then: {why}; '
              f'{"the node runs on" if ended is None else f"the node ended with status {ended}"}')
        node.kill()
        test.processes.remove(node)
        check_all_there(test, 'node', receipted)
    interop.check('some were receipted', len(receipted) > len(HEADROOM_MB))


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body))
