#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""TCP proxies between replicas and members, and between members: each link can be cut, held and slowed,
and each direction of it alone.

The proxies run in a process of their own (this file), so that what they carry does not wait for the test.
A member dials another at one address, whichever member it is: the header X-Server-From of its requests
has the id of the caller."""
import asyncio
import json
import subprocess
import sys

CHUNK = 65536
HEAD_MAX = 65536
CUT, HOLD, SLOW = 'cut', 'hold', 'slow'
NO_RULE = '', 0
FROM = b'x-server-from:'


class Links:
    """What the test has of them. Rules are {(from, to): (mode, seconds)}, by names."""

    def __init__(self, test, listeners):
        """listeners: (port, port of the target, from or None: a member, to)."""
        with open(test.work / 'links.log', 'wb') as log:
            self.process = subprocess.Popen([sys.executable, __file__, json.dumps(listeners)], text=True,
                                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log)
        test.processes.append(self)
        self.rules = {}
        self.order({})

    def order(self, order):
        self.process.stdin.write(json.dumps(order) + '\n')
        self.process.stdin.flush()
        if self.process.stdout.readline() != 'ok\n':
            raise RuntimeError('the proxies have ended: see links.log')

    def set_ids(self, ids):
        """{id: name} of members."""
        self.order({'ids': ids})

    def set_rules(self, rules):
        """Adds to those that there are."""
        self.rules = {**self.rules, **rules}
        self.send_rules()

    def clear(self, keys):
        self.rules = {key: rule for key, rule in self.rules.items() if key not in keys}
        self.send_rules()

    def send_rules(self):
        self.order({'rules': [[*key, *rule] for key, rule in self.rules.items()]})

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


# ---- the process of the proxies ----

class Proxies:
    def __init__(self):
        self.ids, self.rules = {}, {}
        self.changed = asyncio.Event()
        self.connections = {} # by writer: from, to

    def is_cut(self, one, other):
        return CUT in (self.mode(one, other), self.mode(other, one))

    def mode(self, one, other):
        return self.rules.get((one, other), NO_RULE)[0]

    def take(self, order):
        self.ids = order.get('ids', self.ids)
        if 'rules' in order:
            self.rules = {(one, other): [mode, seconds] for one, other, mode, seconds in order['rules']}
            self.changed.set()
            self.changed = asyncio.Event()
        for writer, ends in list(self.connections.items()):
            if self.is_cut(*ends):
                writer.transport.abort()

    async def caller(self, reader):
        """Which member it is, and what was read to find out."""
        head = b''
        while b'\r\n\r\n' not in head and len(head) < HEAD_MAX:
            data = await reader.read(CHUNK)
            if not data:
                break
            head += data
        for line in head.split(b'\r\n'):
            if line.lower().startswith(FROM):
                return self.ids.get(line[len(FROM):].strip().decode(), '?'), head
        return '?', head

    async def pump(self, reader, writer, ends):
        try:
            while data := await reader.read(CHUNK):
                while (rule := self.rules.get(ends, NO_RULE))[0] == HOLD:
                    await self.changed.wait()
                if rule[0] == SLOW:
                    await asyncio.sleep(rule[1])
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        finally:
            writer.close()

    async def carry(self, reader, writer, target, one, other):
        head, out = b'', None
        try:
            if one is None:
                one, head = await self.caller(reader)
            if self.is_cut(one, other):
                return
            ends = (one, other)
            self.connections[writer] = ends
            incoming, out = await asyncio.open_connection('127.0.0.1', target)
            while self.mode(*ends) == HOLD:
                await self.changed.wait()
            out.write(head)
            await asyncio.gather(self.pump(reader, out, ends), self.pump(incoming, writer, ends[::-1]))
        except OSError:
            pass
        finally:
            self.connections.pop(writer, None)
            writer.transport.abort()
            if out:
                out.transport.abort()

    async def run(self, listeners):
        for port, target, one, other in listeners:
            await asyncio.start_server(
                lambda reader, writer, of=(target, one, other): self.carry(reader, writer, *of),
                '127.0.0.1', port)
        orders = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(orders), sys.stdin)
        while line := await orders.readline():
            self.take(json.loads(line))
            print('ok', flush=True)


if __name__ == '__main__':
    asyncio.run(Proxies().run(json.loads(sys.argv[1])))
