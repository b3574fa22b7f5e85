#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""udpactl client: what one client has, and what it should have, of a client that acknowledges some clusters, rejects
the next version of one, does not answer, and asks for what is not there; and that it agrees with udpactl clients."""
import json
import re
import sys

import interop
from interop import check, wait_for
from test_udpactl_wait import Client
from udpactl import GOOD, REFUSED, Ctl, write_cluster

MISTAKE = 2


def of_client(ctl, *arguments, status=GOOD):
    return json.loads(ctl('client', 'one', *arguments, '-o', 'json', status=status))


def counts(said):
    """Of its one type: without what there is none of."""
    one, = said['types']
    return {key: value for key, value in one.items() if isinstance(value, int) and value}


def body(test):
    node = interop.Node(test, 'node')
    ctl = Ctl(test, node)
    ctl('client', status=MISTAKE)
    ctl('client', 'one', 'no-such-type', status=MISTAKE)
    ctl('clients', '--strict', status=MISTAKE)
    out, err = ctl.start('client', 'one').communicate()
    check(f'there is no such client: {err}', not out and "no client with the node id 'one'" in err and
          'udpactl clients' in err)
    ctl('client', 'one', status=REFUSED)
    ctl('apply', '-f', write_cluster(test, 'a.json', 'a', '1s'), '-f', write_cluster(test, 'b.json', 'b', '1s'))
    client, other = Client(node.address, 'one', False), Client(node.address, 'another', False)
    response = client.take()
    said = of_client(ctl)
    check(f'it has not answered: {said}', counts(said) == {'notAnswered': 2} and all(
        one['has'] == '' and one['shouldHave'] and 'not answered' in one['why'] for one in said['resources']))
    client.answer(response)
    said = wait_for('its answer', lambda: (lambda now: now if counts(now) == {'hasIt': 2} else None)(of_client(ctl)))
    check('nothing differs', said['resources'] == [])
    check('and that is written', 'It has all that it should have.' in ctl('client', 'one', 'cluster'))
    said = of_client(ctl, '--all')
    good = {one['name'].rsplit('/', 1)[-1]: one for one in said['resources']}
    check(f'with --all they are listed: {good}', good.keys() == {'a', 'b'} and all(
        one['has'] == one['shouldHave'] != '' and one['state'] == 'hasIt' and one['client'] == 'one'
        for one in good.values()))
    check('with the nodes on their path', all('by node' in one['from'] for one in good.values()))
    check('of another type there is nothing', of_client(ctl, 'listener', '--all') == {'types': [], 'resources': []})
    ctl('apply', '-f', write_cluster(test, 'b.json', 'b', '2s'))
    client.answer(client.take(), 'b is not \x1b[2J good')
    said = wait_for('the rejection', lambda: (lambda now: now if 'rejected' in counts(now) else None)(of_client(ctl)))
    one, = said['resources']
    check(f'one is rejected: {one}', counts(said) == {'hasIt': 1, 'rejected': 1} and one['state'] == 'rejected' and
          one['name'].endswith('b') and one['has'] == good['b']['has'] and
          one['shouldHave'] not in ('', one['has']) and 'b is not' in one['why'] and 'by node' in one['from'])
    text = ctl('client', 'one')
    check(f'the same as a table: {text!r}', re.search(r'^one +- +cluster +1 +1 +0 +0 +0 +0 +0$', text, re.M) and
          re.search(r'^cluster +\S*b +rejected +\w{12}… +\w{12}… +\d+ s +.*by node +b is not \?\[2J good$', text, re.M))
    row = next(line for line in ctl('clients').splitlines() if line.startswith('one '))
    check(f'clients agrees: {row}', 'no: rejected' in row)
    check('the other one is another', all(line['client'] == 'one' for line in said['resources'] + said['types']))
    client.close()
    other.close()
    node.stop()


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body))
