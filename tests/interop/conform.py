# SPDX-License-Identifier: Apache-2.0
"""`udpactl conform` as the tests run it, and the servers that it is run at."""
import json
import pathlib
import subprocess
import sys

import interop

HERE = pathlib.Path(__file__).resolve().parent
PATIENCE_S = 280


def conform(test, address, *options):
    """Its results by the names of the cases, and its exit status."""
    command = [test.build / 'udpactl', '--server', address, 'conform', '-o', 'json', *options]
    done = subprocess.run([str(part) for part in command], text=True, capture_output=True,
                          check=False, timeout=PATIENCE_S)
    if done.returncode not in (0, 1):
        raise interop.Failure(f'conform ends with {done.returncode}: {done.stderr}')
    return {result['name']: result for result in json.loads(done.stdout)}, done.returncode


def at_python(test, fault, *options):
    """At the small server of ours, with or without a fault."""
    address, rest = (f'127.0.0.1:{port}' for port in interop.free_ports(2))
    server = f"'{sys.executable}' '{HERE / 'conform_server.py'}' --listen {address} --rest {rest}"
    return conform(test, address, '--change', server + (f' --fault {fault}' if fault else ''),
                   '--rest-server', rest, *options)


def go_program(test):
    """go-control-plane, built; skips the test if that cannot be."""
    return interop.go_program_or_skip(HERE / 'go-conform', test.build / 'conform-go')


def at_go(test, cache, *options):
    """At go-control-plane, which go_program() has built."""
    program = test.build / 'conform-go'
    address, rest = (f'127.0.0.1:{port}' for port in interop.free_ports(2))
    command = f"'{program}' -cache {cache} -listen {address} -rest {rest}"
    if cache != 'linear': # which has no Fetch, and so no REST
        options = ('--rest-server', rest, *options)
    return conform(test, address, '--change', command, *options)


def not_passed(results, verdicts=('fail', 'short')):
    return {name for name, result in results.items() if result['result'] in verdicts}
