# SPDX-License-Identifier: Apache-2.0
"""A gate before a server: TCP passes while it is open, and ends when it closes."""
import asyncio
import threading


class Gate:
    """Open at first. It ends with the process."""

    def __init__(self, port):
        self.to_port, self.port, self.is_open = port, None, True
        self.writers = set()
        self.loop = asyncio.new_event_loop()
        started = threading.Event()
        threading.Thread(target=self.loop.run_until_complete, args=(self.serve(started),), daemon=True).start()
        started.wait()

    @property
    def address(self):
        return f'127.0.0.1:{self.port}'

    async def serve(self, started):
        server = await asyncio.start_server(self.accept, '127.0.0.1', 0)
        self.port = server.sockets[0].getsockname()[1]
        started.set()
        async with server:
            await server.serve_forever()

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
        there_reader, there_writer = await asyncio.open_connection('127.0.0.1', self.to_port)
        self.writers.add(there_writer)
        await asyncio.gather(self.copy(reader, there_writer), self.copy(there_reader, writer))
        self.writers.discard(there_writer)

    @staticmethod
    async def copy(reader, writer):
        try:
            while data := await reader.read(65536):
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
