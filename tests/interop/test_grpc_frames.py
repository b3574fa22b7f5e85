#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gRPC over HTTP/2 on udpad's own listener, by the frames: heads, trailers, metadata, framing, resets, GOAWAY
and pings. What a library of gRPC would hide: it is the server of test_grpc_cases.py, and the client is made by
hand."""
import base64
import signal
import struct
import sys
import time

import interop
from attacks import DATA, ENHANCE_YOUR_CALM, PING, RST_STREAM, frame, message
from grpc_test_service import PATIENCE_S, Frames, Messages, Server

INITIAL, TRAILING = 'x-grpc-test-echo-initial', 'x-grpc-test-echo-trailing-bin'
HEAD = [(':status', '200'), ('content-type', 'application/grpc'), ('grpc-accept-encoding', 'identity')]
CANCEL, NO_ERROR = 8, 0
LAST = 2 ** 31 - 1


class Calls:
    """Calls of one connection, each on the next stream."""

    def __init__(self, test, server):
        self.messages, self.frames, self.last = Messages(test.build), Frames(server), -1

    def begin(self, method='UnaryCall', **fields):
        self.last += 2
        self.frames.begin(self.last, method, **fields)
        return self.last

    def call(self, request=b'', method='UnaryCall', flag=0, **fields):
        """The heads of the response; request: a message, or its bytes."""
        stream = self.begin(method, **fields)
        payload = request if isinstance(request, bytes) else request.SerializeToString()
        self.frames.say(stream, payload, flag)
        return self.frames.wait_for_end(stream)

    def wait_for_close(self):
        """It is closed at once: else the server waits for that."""
        self.frames.wait('the end of the connection', lambda: self.frames.is_over)
        self.frames.socket.close()

    def request(self, **fields):
        return self.messages.SimpleRequest(**fields)


def expect(what, found, wanted):
    interop.check(f'{what}: {str(found)[:200]}', found == wanted)


def heads(calls):
    found = calls.call(calls.request(response_size=3))
    expect('a response', found, [HEAD, [('grpc-status', '0')]])
    response = calls.messages.SimpleResponse(payload={'body': bytes(3)})
    expect('its message', calls.frames.data[calls.last], message(response.SerializeToString()))
    found = calls.call(method='NoSuchCall')
    expect('trailers only', (len(found), found[0][:4]), (1, HEAD + [('grpc-status', '12')]))
    failure = calls.request(response_status={'code': 5, 'message': 'x'})
    expect('a failure', calls.call(failure), [HEAD + [('grpc-status', '5'), ('grpc-message', 'x')]])
    found = calls.call(calls.request(), **{'content_type': 'application/grpc+proto'})
    expect('a content-type with a codec', found[-1], [('grpc-status', '0')])
    found = calls.call(calls.request(), **{'content_type': 'application/json'})
    expect('another content-type', found[0][0], (':status', '415'))


def words(calls):
    """No value begins or ends with a space (RFC 9113, 8.2.1)."""
    for text, wanted in ((' a b ', '%20a b%20'), (' ', '%20'), ('50%\n', '50%25%0A'), ('\u00fc~\x7f', '%C3%BC~%7F'),
                         ('x' * 3000, 'x' * 999)):
        found = calls.call(calls.request(response_status={'code': 2, 'message': text}))
        expect(f'{text[:10]!r}', dict(found[0])['grpc-message'], wanted)


def compressed(calls):
    request = calls.request()
    for encoding, flag, wanted in (('gzip', 1, '12'), ('deflate', 1, '12'), ('identity', 1, '13'), (None, 1, '13'),
                                   ('gzip', 0, '0'), ('gzip', 2, '13'), (None, 255, '13')):
        fields = {'grpc_encoding': encoding} if encoding else {}
        found = dict(sum(calls.call(request, flag=flag, **fields), []))
        expect(f'flag {flag}, grpc-encoding {encoding}', (found['grpc-status'], found['grpc-accept-encoding']),
               (wanted, 'identity'))


def metadata(calls):
    value = bytes(range(250, 256)) + b'?>'
    encoded = base64.b64encode(value).decode()
    for text in (encoded, encoded.rstrip('='), encoded + ', AAAA', encoded.rstrip('=') + ',AAAA'):
        found = calls.call(calls.request(), **{TRAILING: text})
        expect(f'{text} comes back without padding', dict(found[-1])[TRAILING], encoded.rstrip('='))
    expect('empty', dict(calls.call(calls.request(), **{TRAILING: ''})[-1])[TRAILING], '')
    for text in ('AAAAA', '====', 'AA A', '-_-_', 'AA=A', 'AA==='):
        found = calls.call(calls.request(), **{TRAILING: text})
        expect(f'{text} is no base64', dict(found[-1])['grpc-status'], '13')
    failure = calls.request(response_status={'code': 2})
    found = calls.call(failure, **{INITIAL: 'a, b', TRAILING: 'AAAA'})
    expect('beside a failure there are a head and trailers', found, [
        HEAD + [(INITIAL, 'a, b')], [('grpc-status', '2'), ('grpc-message', ''), (TRAILING, 'AAAA')]])
    found = calls.call(failure, **{TRAILING: 'AAAA'})
    expect('or trailers only', (len(found), dict(found[0])[TRAILING]), (1, 'AAAA'))


def framing(calls):
    whole = calls.messages.StreamingInputCallRequest(payload={'body': b'x' * 10}).SerializeToString()
    stream = calls.begin('StreamingInputCall')
    for byte in message(whole) * 2:
        calls.frames.send(frame(DATA, 0, stream, bytes([byte])))
    calls.frames.send(frame(DATA, 1, stream, message(whole) * 3))
    expect('however frames cut messages', calls.frames.status(stream), '0')
    response = calls.messages.StreamingInputCallResponse(aggregated_payload_size=50)
    expect('all have come', calls.frames.data[stream], message(response.SerializeToString()))
    stream = calls.begin('StreamingInputCall')
    calls.frames.send(frame(DATA, 1, stream, message(whole)[:-1]))
    interop.check('an end within a message is a failure', calls.frames.status(stream) != '0')
    stream = calls.begin('StreamingInputCall')
    calls.frames.send(frame(DATA, 0, stream, b'\0' + struct.pack('>I', (4 << 20) + 1)))
    expect('a message that is too large', calls.frames.status(stream), '8')
    calls.frames.wait('its reset: the rest is not needed', lambda: calls.frames.resets.get(stream) == NO_ERROR)


def resets(calls, server):
    stream = calls.begin('Cut')
    calls.frames.say(stream, ends=False)
    calls.frames.wait('a reset with CANCEL', lambda: calls.frames.resets.get(stream) == CANCEL)
    stream = calls.begin('FullDuplexCall')
    calls.frames.send(frame(RST_STREAM, 0, stream, struct.pack('>I', CANCEL)))
    server.wait_for_end_of('FullDuplexCall', 'has cut the stream')
    begun = time.monotonic()
    stream = calls.begin('FullDuplexCall', grpc_timeout='200m')
    expect('the time of the caller is over', calls.frames.status(stream), '4')
    interop.check('not before it is', 0.15 < time.monotonic() - begun < PATIENCE_S)
    calls.frames.wait('its reset', lambda: calls.frames.resets.get(stream) == NO_ERROR)
    stream = calls.begin('FullDuplexCall')
    request = calls.messages.StreamingOutputCallRequest(response_status={'code': 9})
    calls.frames.say(stream, request.SerializeToString(), ends=False)
    expect('the server ends first', calls.frames.status(stream), '9')


def large_head(calls):
    """16 KiB are taken."""
    for size, is_taken in ((1000 * 15, True), (1000 * 17, False)):
        more = {f'x-{i}': 'v' * 963 for i in range(size // 1000)} # 1000 as HTTP/2 counts
        stream = calls.begin('UnaryCall', **more)
        calls.frames.say(stream)
        if is_taken:
            expect('a large head', calls.frames.status(stream), '0')
        else:
            calls.frames.wait('a reset of one that is too large', lambda one=stream: one in calls.frames.resets)
    expect('the connection is served on', calls.call()[-1], [('grpc-status', '0')])


def half_close(calls):
    """All requests have been read when a ping behind them is answered."""
    request = calls.messages.StreamingOutputCallRequest(response_parameters=[{'size': 1}]).SerializeToString()
    stream = calls.begin('HalfDuplexCall')
    for _ in range(3):
        calls.frames.say(stream, request, ends=False)
    calls.frames.send(frame(PING, 0, 0, b'half way'))
    calls.frames.wait('the requests are read', lambda: calls.frames.acks)
    interop.check('nothing comes before their end', stream not in calls.frames.heads)
    calls.frames.send(frame(DATA, 1, stream))
    expect('all is answered then', calls.frames.status(stream), '0')
    response = calls.messages.StreamingOutputCallResponse(payload={'body': b'\0'}).SerializeToString()
    expect('in three messages', calls.frames.data[stream], message(response) * 3)


def calls_of(test):
    server = Server(test)
    for case in (heads, words, compressed, metadata, framing, large_head, half_close):
        print(f'{case.__name__}:')
        case(Calls(test, server))
    resets(Calls(test, server), server)
    server.stop()


# ---- connections ----

def pings(test):
    server = Server(test, 'pinging', keepalive_ms=100)
    calls = Calls(test, server)
    for i in range(50):
        calls.frames.send(frame(PING, 0, 0, struct.pack('>Q', i)))
    calls.frames.wait('50 pings are answered, in order',
                      lambda: calls.frames.acks == [struct.pack('>Q', i) for i in range(50)])
    calls.frames.wait('the server tries a peer that is silent', lambda: calls.frames.pings)
    calls.frames.send(frame(PING, 1, 0, calls.frames.pings[-1]))
    calls.frames.wait('and again', lambda: len(calls.frames.pings) > 1)
    calls.frames.wait('without an answer the connection ends', lambda: calls.frames.is_over)
    server.stop()


def too_many_pings(test):
    """A client of gRPC that receives these words pings half as often on its next connection (gRFC A8)."""
    frames, n = Frames(Server(test, 'flooded')), 0
    while not frames.goaways:
        frames.send(frame(PING, 0, 0, b'whatever') * 400)
        n += 400
        frames.wait('acknowledgements', lambda n=n: frames.goaways or len(frames.acks) >= n)
    expect('GOAWAY', (frames.goaways[0][1], frames.reasons[0]), (ENHANCE_YOUR_CALM, b'too_many_pings'))


def goaway(test):
    server = Server(test, 'ending')
    calls = Calls(test, server)
    stream = calls.begin('FullDuplexCall')
    calls.call(calls.request())
    server.process.send_signal(signal.SIGTERM)
    calls.frames.wait('GOAWAY with the last stream', lambda: calls.frames.goaways == [(calls.last, NO_ERROR)])
    late = calls.begin('UnaryCall')
    calls.frames.say(late)
    calls.frames.say(stream, calls.messages.StreamingOutputCallRequest(
        response_parameters=[{'size': 1}]).SerializeToString())
    expect('what was open goes on to its end', calls.frames.status(stream), '0')
    calls.wait_for_close()
    interop.check('what came behind GOAWAY is ignored', late not in calls.frames.heads)
    interop.check('the server ends', server.process.wait(PATIENCE_S) == 0)
    server.stop()


def age(test):
    server = Server(test, 'old', age_ms=300)
    calls = Calls(test, server)
    stream, begun = calls.begin('FullDuplexCall'), time.monotonic()
    calls.frames.wait('a notice', lambda: calls.frames.goaways == [(LAST, NO_ERROR)])
    interop.check('it comes in time', time.monotonic() - begun < 5)
    expect('a call that was under way is served', calls.call(calls.request())[-1], [('grpc-status', '0')])
    calls.frames.wait('GOAWAY with the last stream',
                      lambda: calls.frames.goaways == [(LAST, NO_ERROR), (calls.last, NO_ERROR)])
    calls.frames.send(frame(DATA, 1, stream))
    expect('what was open goes on to its end', calls.frames.status(stream), '0')
    calls.wait_for_close()
    server.stop()


def connections(test):
    for case in (pings, too_many_pings, goaway, age):
        case(test)


VARIANTS = {'calls': calls_of, 'connections': connections}

if __name__ == '__main__':
    sys.exit(interop.run(__doc__, lambda test: VARIANTS[test.variant](test), tuple(VARIANTS)))
