#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a node starts as its successor, if a test has it so: follows the steps of a restart up to one, and then does something
else. FALSE_SUCCESSOR has what: steps and deeds with commas between. In any other life it is the program of PROGRAM."""
import fcntl
import os
import socket
import struct
import sys
import time

FRAME_STEP = 14
CHECKED, TAKE, READY, GO, SERVES, FAILED = range(1, 7)


def send(link, step, text='', kind=FRAME_STEP):
    payload = bytes([step]) + text.encode()
    link.sendall(struct.pack('<IB', len(payload), kind) + payload)


def receive(link, step):
    size, kind = struct.unpack('<IB', link.recv(5, socket.MSG_WAITALL))
    payload = link.recv(size, socket.MSG_WAITALL)
    assert (kind, payload[0]) == (FRAME_STEP, step), (kind, payload)


def act(link, deeds):
    for deed in deeds:
        if deed == 'checked':
            send(link, CHECKED, os.environ['IDENTITY'])
            receive(link, TAKE)
        elif deed == 'ready':
            send(link, READY)
            receive(link, GO)
        elif deed == 'other':
            send(link, CHECKED, 'node id other, state elsewhere')
            time.sleep(60)
        elif deed == 'serves':
            send(link, SERVES)
            time.sleep(60)
        elif deed == 'failed':
            send(link, FAILED, 'its tea is cold')
            time.sleep(60)
        elif deed == 'garbage':
            link.sendall(b'\xff' * 100)
            time.sleep(60)
        elif deed == 'long':
            link.sendall(struct.pack('<IB', 1 << 30, FRAME_STEP) + b'\x01' * 1000)
            time.sleep(60)
        elif deed == 'kind':
            send(link, CHECKED, kind=1)
            time.sleep(60)
        elif deed == 'lock':
            lock = open(os.environ['LOCK'], 'r+b')
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        elif deed == 'close':
            link.close()
            time.sleep(60)
        elif deed == 'hang':
            time.sleep(60)
        elif deed == 'die':
            sys.exit(7)


if 'UDPAD_SUCCESSOR_OF_RUN' in os.environ and os.environ.get('FALSE_SUCCESSOR'):
    act(socket.socket(fileno=3), os.environ['FALSE_SUCCESSOR'].split(','))
else:
    os.execv(os.environ['PROGRAM'], sys.argv)
