#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""udpactl diff: what apply would change, by diff(1) or by a program of the user's choice; of secrets only that they
differ; and what the files lack. Nothing is left behind, and nothing is changed."""
import argparse
import os
import subprocess
import sys

from product import check, main, need_descriptors

CLUSTER = 'type.googleapis.com/envoy.config.cluster.v3.Cluster'
SECRET = 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret'
KEY = 'a-payload-that-is-not-shown'


def cluster(name, timeout):
    return f'---\n"@type": {CLUSTER}\nname: {name}\nconnect_timeout: {timeout}\n'


def secret(value):
    return f'---\n"@type": {SECRET}\nname: key\ngeneric_secret: {{secret: {{inline_string: {value}}}}}\n'


class Diff:
    """udpactl diff; (exit status, output, errors)."""

    def __init__(self, test, address):
        self.command = [test.build / 'udpactl', '--server', address, 'diff']
        self.scratch = test.work / 'scratch'
        self.scratch.mkdir()

    def __call__(self, *arguments, text=None, **variables):
        done = subprocess.run([*self.command, *map(str, arguments)], input=text, text=True, capture_output=True,
                              check=False, timeout=60, env={**os.environ, 'TMPDIR': str(self.scratch), **variables})
        check('nothing is left behind', not list(self.scratch.iterdir()), list(self.scratch.iterdir()))
        check('no payload of a secret is shown', KEY not in done.stdout + done.stderr, done)
        return done.returncode, done.stdout, done.stderr


def body(test):
    need_descriptors(test)
    _, address = test.start_node()
    diff = Diff(test, address)

    def ctl(*arguments):
        return subprocess.run([test.build / 'udpactl', '--server', address, *arguments], text=True, capture_output=True,
                              check=True, timeout=60).stdout

    files = test.work / 'files'
    files.mkdir()
    (files / 'clusters.yaml').write_text(cluster('a', '1s') + cluster('b', '1s'))
    (files / 'secret.yaml').write_text(secret(KEY))

    status, out, _ = diff('-f', files)
    check('what is not there is a difference', status == 1 and '+++ files/cluster.local%2Fa.yaml' in out and
          'connect_timeout: 1s' in out, out)
    check('  and the secret is named', "secret 'local/key' is in the files alone: its contents are not shown" in out, out)
    check('  and nothing was changed', ctl('get', 'cluster') == '')

    ctl('apply', '-f', files)
    status, out, errors = diff('-f', files)
    check('what was applied does not differ', (status, out, errors) == (0, '', ''), (status, out, errors))
    (files / 'clusters.yaml').write_text(cluster('a', '2s'))
    status, out, errors = diff('-f', files)
    lines = out.splitlines()
    check('one line differs', status == 1 and sum(line.startswith('-') and not line.startswith('---') for line in lines) ==
          sum(line.startswith('+') and not line.startswith('+++') for line in lines) == 1, out)
    check('  from what to what', any(line[0] == '-' and line.endswith('connect_timeout: 1s') for line in lines) and
          any(line[0] == '+' and line.endswith('connect_timeout: 2s') for line in lines), out)
    check('what the files lack is listed', errors == "not in the files: cluster 'local/b', which udpactl has published\n",
          errors)
    status, out, errors = diff('-f', files, '--node-id', 'other')
    check('  of the same publisher', status == 1 and errors == '', errors)
    (files / 'secret.yaml').write_text(secret(KEY + '2'))
    status, out, _ = diff('-f', files / 'secret.yaml')
    check('that a secret differs', status == 1 and out == "secret 'local/key' differs: its contents are not shown\n", out)

    status, out, _ = diff('-f', '-', text=cluster('a', '3s'), UDPACTL_EXTERNAL_DIFF='ls -1')
    check('another program may show it', status == 1 and out.splitlines() == [
        'files:', 'cluster.local%2Fa.yaml', '', 'node:', 'cluster.local%2Fa.yaml'], out)
    for what, arguments, variables, error in (
            ('a program that fails', ('-f', files), {'UDPACTL_EXTERNAL_DIFF': 'sh -c "exit 3"'}, 'it has failed'),
            ('a missing diff', ('-f', files), {'PATH': '/proc/no'}, 'install the package diffutils'),
            ('no file', (), {}, 'diff takes files'),
            ('a file that is none', ('-f', test.work / 'none'), {}, 'No such file'),
            ('a directory that cannot be written', ('-f', files), {'TMPDIR': '/proc/no'}, 'cannot make a directory')):
        status, _, errors = diff(*arguments, **variables)
        check(f'{what} is an error', status == 2 and error in errors, (status, errors))
    diff.command[2] = '127.0.0.1:1'
    check('so is a node that is not there', diff('-f', files)[0] == 2)


if __name__ == '__main__':
    sys.exit(main(argparse.ArgumentParser(description=__doc__), body))
