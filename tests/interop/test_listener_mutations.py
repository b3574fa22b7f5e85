#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real clients use the listener of udpad through proxies that change, drop, repeat, cut and delay what they
send and receive (mutations.py), without TLS and with it. After it the node lives, a client that goes straight
to it was served in time, its memory is bounded, and no descriptor is left.

Prints its seed; --seed N has the same changes, as far as the clients do the same."""
import json
import os
import sys
import time

import interop
import test_listener_attacks as beside
import test_own_sockets

HERE = interop.SOURCE / 'tests' / 'interop'
SECONDS = {'short': 5, 'long': 60}
SEEDS = {'short': 1, 'long': 2}
ALONE_S = 1
CHANGES = 30       # at least
ATTEMPTS = 4
HANG_S = 60 # behind the time that the clients are given
P99_S = 0.25       # other programs may use the machine


def n_descriptors(node):
    return len(os.listdir(f'/proc/{node.process.pid}/fd'))


def watch(client, node, is_over):
    """Of the client that goes straight: how long each response took, and the most memory of the node."""
    times, most = [], 0
    while not is_over() or len(times) < 100:
        times.append(client.ask())
        most = max(most, beside.Node.memory(node))
        time.sleep(beside.PAUSE_S)
    return times, most


class Changed:
    """The clients and proxies, as a process."""

    def __init__(self, test, node, folder, seed, seconds):
        plain, secure = (address.rsplit(':', 1)[1] for address in node.addresses())
        go = interop.go_program_or_skip(HERE / 'go-http', test.build / 'rest-go-client')
        self.process = interop.Process(
            [sys.executable, HERE / 'mutations.py', '--port', plain, '--tls-port', secure, '--ca', folder / 'ca.crt',
             '--go', go, '--seed', str(seed), '--seconds', str(seconds)],
            test.work / 'mutations.json',
            {'GRPC_ENABLE_FORK_SUPPORT': '0'})
        test.processes.append(self.process)
        self.last = time.monotonic() + seconds + HANG_S

    def is_over(self):
        if time.monotonic() > self.last: # a library hangs by what it was sent, as others crash
            self.process.process.kill()
            self.process.process.wait()
        return self.process.process.poll() is not None

    def results(self):
        """None: a library has crashed in it, by what it was sent."""
        if self.process.process.returncode < 0:
            print(f'the clients were ended by signal {-self.process.process.returncode}', flush=True)
            return None
        try:
            return json.loads(self.process.text().splitlines()[-1])
        except (ValueError, IndexError):
            raise interop.Failure(f'the clients have ended with status {self.process.process.returncode}: '
                                  f'{self.process.text()[-600:]}') from None


def body(test):
    seed = test.arguments.seed or SEEDS[test.variant]
    print(f'seed {seed}', flush=True)
    folder = test.issue('node')
    tls = {'certificate_file': f'{folder}/node.crt', 'private_key_file': f'{folder}/node.key'}
    serves = {'address': '127.0.0.1:0', 'also_serves': ['REST', 'PAGES']}
    options = ':'.join(filter(None, (os.environ.get('ASAN_OPTIONS'), beside.ASAN)))
    node = test_own_sockets.Node(test, 'node', {'sockets': [serves, {**serves, 'tls': tls}]},
                                 environment={'ASAN_OPTIONS': options})
    node.port = int(node.address.rsplit(':', 1)[1])
    with beside.Client(beside.Target(node, False)) as client:
        first = Changed(test, node, folder, seed, 1) # so that all has been used once
        watch(client, node, first.is_over)
        first.results()
        begin = time.monotonic()
        alone, _ = watch(client, node, lambda: time.monotonic() > begin + ALONE_S)
        limit_s = max(beside.TIMES * beside.p99(alone), P99_S)
        before, memory = n_descriptors(node), beside.Node.memory(node)
        for attempt in range(ATTEMPTS): # once more, if the machine was busy with something else
            changed = Changed(test, node, folder, seed + attempt, SECONDS[test.variant])
            times, most = watch(client, node, changed.is_over)
            results = changed.results()
            if results and beside.p99(times) <= limit_s:
                break
        interop.check('the clients have come to their end', results)
        print(f'{json.dumps(results)}; beside it {len(times)} responses, p99 {beside.p99(times) * 1e3:.1f} ms, alone '
              f'{beside.p99(alone) * 1e3:.1f} ms; memory {(most - memory) / beside.MIB:+.1f} MiB', flush=True)
        interop.check('much was changed', sum(results['changes'].values()) > CHANGES)
        for words in ('good', 'failed'):
            interop.check(f'calls of all kinds of libraries: some are {words}', any(
                words in one for one in results['results']))
        interop.check('the client beside it was served in time', beside.p99(times) <= limit_s)
        interop.check('memory is bounded', most - memory < 20 * beside.MIB)
        interop.wait_for('all connections to end', lambda: n_descriptors(node) <= before)
        client.ask()
    interop.check('others are served', test_own_sockets.is_served(node.address))
    node.stop()


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body, tuple(SECONDS), {
        '--seed': {'type': int, 'help': 'of the changes; default: always the same'}}))
