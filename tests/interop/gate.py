# SPDX-License-Identifier: Apache-2.0
"""A gate before a server: TCP passes while it is open, and ends when it closes."""
import asyncio

import relay


class Gate(relay.Relay):
    """Open at first."""

    def __init__(self, port):
        self.is_open, self.writers = True, set()
        self.n_passed = 0 # connections, so far
        super().__init__(port)

    async def accept(self, reader, writer):
        self.writers.add(writer)
        try:
            if self.is_open:
                await self.connect(reader, writer)
        except ConnectionError:
            pass
        self.writers.discard(writer)
        writer.close()

    async def connect(self, reader, writer):
        there_reader, there_writer = await self.connect_on()
        self.writers.add(there_writer)
        self.n_passed += 1
        await asyncio.gather(self.copy(reader, there_writer), self.copy(there_reader, writer))
        self.writers.discard(there_writer)

    @staticmethod
    async def copy(reader, writer):
        try:
            while data := await reader.read(relay.PIECE):
                writer.write(data)
        except ConnectionError:
            pass
        writer.close()

    async def end_all(self):
        for writer in list(self.writers):
            writer.transport.abort()

    def cut(self):
        """Ends all connections; others may come."""
        asyncio.run_coroutine_threadsafe(self.end_all(), self.loop).result()

    def close(self):
        self.is_open = False
        self.cut()

    def open(self):
        self.is_open = True
