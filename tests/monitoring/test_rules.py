#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rules of monitoring/alerts.yaml, by promtool: what each alert fires at, and what all are silent at.

A case is a federation as Prometheus sees it: that of BASE, a healthy node that is also a replica, with some series in
another way. At its end exactly the alerts fire that it names.

planted: the same cases detect what may go wrong in the file: of each alert another threshold, another time, another
label, or none of them."""
import dataclasses
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import rules

SOURCE = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77
STEP_S = 15
STEPS = 321 # 80 minutes: the windows of an hour are full
EVALUATION_S = 60
DAY_S = 86400
LONG_AGO = -30 * DAY_S

NODE = 'job="udpad",instance="a"'
CLUSTER = 'type="cluster"'


def series(name, labels=''):
    return f'{name}{{{NODE}{"," if labels else ""}{labels}}}'


def constant(value, n=STEPS):
    return f'{value}+0x{n - 1}'


def counter(per_step, n=STEPS, begin=0):
    return f'{begin}+{per_step}x{n - 1}'


def late(values, n, steps=STEPS):
    """Values of the last n steps; before there is no series."""
    return f'_x{steps - n} {values}'


def then(before, values, n, steps=STEPS):
    """A constant, and the other values in the last n steps."""
    return f'{constant(before, steps - n)} {values}'


def histogram(name, counts, labels=''):
    """{series: values} of a histogram: {bound: how many more in each step}."""
    comma = f'{labels},' if labels else ''
    return {series(name + '_bucket', f'{comma}le="{bound}"'): counter(n) for bound, n in counts.items()}


FAST = {'0.1': 99.9, '0.25': 100, '1.0': 100, '5.0': 100, '+Inf': 100}
# 1 % and more in the bucket up to 1 s, and of the store up to 5 s.
SLOW = {'0.1': 97, '0.25': 97.5, '1.0': 100, '5.0': 100, '+Inf': 100}
SLOW_STORE = {'0.1': 90, '0.25': 95, '1.0': 98, '5.0': 100, '+Inf': 100}

IDLE = {
    series('up'): constant(1),
    series('udpa_build_info', 'version="0.1.0"'): constant(1),
    series('process_start_time_seconds'): constant(LONG_AGO),
    series('process_open_fds'): constant(30),
    series('process_max_fds'): constant(1000),
    series('udpa_unsynchronized_seconds'): constant(0),
    series('udpa_signatures_rejected_total'): constant(0),
    series('udpa_streams_refused_total'): constant(0),
    **histogram('udpa_loop_turn_seconds', {'0.1': 1, '0.25': 1, '1.0': 1, '5.0': 1, '+Inf': 1}),
}
BASE = {
    **IDLE,
    series('udpa_worker_up', 'worker="1"'): constant(1),
    series('udpa_worker_open_fds', 'worker="1"'): constant(30),
    series('udpa_certificate_expiry_timestamp_seconds', 'use="socket"'): constant(90 * DAY_S),
    **histogram('udpa_stream_thread_turn_seconds', FAST),
    **histogram('udpa_loop_turn_seconds', FAST),
    **histogram('udpa_store_commit_seconds', FAST),
    series('udpa_client_streams'): constant(500),
    series('udpa_deliveries_total', CLUSTER): counter(10),
    series('udpa_acks_total', CLUSTER): counter(10),
    series('udpa_handshakes_total'): counter(2),
    series('udpa_handshakes_failed_total', 'reason="closed"'): counter(30), # the checks of a load balancer
    series('udpa_handshakes_failed_total', 'reason="certificate"'): counter(1),
    series('udpa_connections_refused_total', 'reason="max_streams"'): constant(7),
    series('udpa_updates_accepted_total', CLUSTER): counter(5),
    series('udpa_receipts_total', 'code="ok"'): counter(5),
    series('udpa_receipts_total', 'code="permission_denied"'): counter(1), # for the publisher to solve
    series('udpa_source_active', 'source="core"'): constant(1),
    series('udpa_source_connected', 'source="core"'): constant(1),
    series('udpa_source_active', 'source="standby"'): constant(0), # not needed
    series('udpa_source_connected', 'source="standby"'): constant(0),
    series('udpa_source_failures_total', 'source="core"'): constant(3),
    series('udpa_source_held', 'source="core"'): constant(0),
    series('udpa_store_queued_batches'): constant(5),
    series('udpa_store_failed_batches_total'): constant(2), # of long ago
    series('udpa_store_unreadable_secrets'): constant(0),
    series('udpa_replica_is_current'): constant(1),
    series('udpa_replica_is_held'): constant(0),
    series('udpa_replica_not_current_seconds'): constant(0),
    series('udpa_replica_etcd_has_alarm'): constant(0),
    series('udpa_replica_etcd_size_bytes'): constant(1e9),
    series('udpa_replica_etcd_quota_bytes'): constant(2e9),
    series('udpa_replica_directories_waiting'): constant(0),
    series('udpa_replica_directories_differing'): constant(0),
    **histogram('udpa_propagation_seconds', {'1.0': 4, '5.0': 4.99, '+Inf': 5}, CLUSTER),
    series('udpa_propagations_total', 'outcome="acknowledged"'): counter(5),
    series('udpa_propagations_total', 'outcome="gone"'): counter(5),
}

# ---- histories of a whole node ----

# It is not scraped for two steps, and begins anew with counters of 0.
RESTART_AT = STEPS - 60


def restarted(values, rest=None):
    """The same values before and after a restart."""
    n = STEPS - RESTART_AT - 2
    match = re.fullmatch(r'(\S+?)\+(\S+?)x\d+', values)
    again = rest or (constant(match[1], n) if match[2] == '0' else counter(match[2], n))
    return f'{match[1]}+{match[2]}x{RESTART_AT - 1} _x2 {again}'


def restart(down=2):
    n = STEPS - RESTART_AT - 2
    world = {name: restarted(values) for name, values in BASE.items()}
    world[series('up')] = f'{constant(1, RESTART_AT)} {constant(0, down)} {constant(1, STEPS - RESTART_AT - down)}'
    world[series('process_start_time_seconds')] = restarted(
        constant(LONG_AGO), constant(STEP_S * (RESTART_AT + 1), n))
    # What follows a start: a source is not connected at once, a worker has not sent its counters yet.
    world[series('udpa_worker_up', 'worker="1"')] = restarted(constant(1), f'0 {constant(1, n - 1)}')
    world[series('udpa_source_active', 'source="core"')] = restarted(constant(1), f'0 0 {constant(1, n - 2)}')
    world[series('udpa_source_failures_total', 'source="core"')] = restarted(constant(3), f'_ {constant(1, n - 1)}')
    world[series('udpa_unsynchronized_seconds')] = restarted(constant(0), f'5 20 {constant(0, n - 2)}')
    world[series('udpa_replica_is_current')] = restarted(constant(1), f'0 0 {constant(1, n - 2)}')
    world[series('udpa_replica_not_current_seconds')] = restarted(constant(0), f'4 19 {constant(0, n - 2)}')
    return world


def drained():
    """Its clients move to other replicas, and it is off for two minutes."""
    world = restart(down=8)
    n = STEPS - RESTART_AT - 2
    world[series('udpa_client_streams')] = f'{constant(500, RESTART_AT - 10)} 500-50x9 _x2 {constant(0, n)}'
    world[series('udpa_streams_moved_total')] = f'{constant(0, RESTART_AT - 10)} 0+50x9 _x2 {constant(0, n)}'
    return world


def reloaded():
    """Files are read again: something of each type is pending for some seconds, and one turn is long."""
    before = STEPS - 60
    return {
        series('udpa_unsynchronized_seconds'): f'{constant(0, before)} 3 18 {constant(0, 58)}',
        series('udpa_loop_turn_seconds_bucket', 'le="0.25"'):
            f'{counter(100, before)} {counter(100, 60, before * 100 - 1)}',
        series('udpa_certificate_expiry_timestamp_seconds', 'use="socket"'):
            f'{constant(8 * DAY_S, before)} {constant(98 * DAY_S, 60)}',
        series('udpa_replica_directories_differing'): f'{constant(0, before)} 1 1 1 1 {constant(0, 56)}',
    }


def upstream_restarts():
    """The source is lost for a minute, its standby takes over, and hands back."""
    before = STEPS - 20
    return {
        series('udpa_source_active', 'source="core"'): f'{constant(1, before)} 0 0 0 0 {constant(1, 16)}',
        series('udpa_source_failures_total', 'source="core"'): f'{constant(3, before)} 4 5 6 7 {constant(7, 16)}',
        series('udpa_source_fail_overs_total', 'source="core"'): late(constant(4, 20), 20),
        series('udpa_source_active', 'source="standby"'): f'{constant(0, before)} 1 1 1 1 1 1 {constant(0, 14)}',
        series('udpa_source_failures_total', 'source="standby"'): late(constant(1, 14), 14),
        series('udpa_source_fail_backs_total', 'source="standby"'): late(constant(4, 14), 14),
    }


def young(world, steps=20):
    """A process that was started so many steps ago, on a machine that is new."""
    found = {name: late(counter(match[2], steps) if match[2] != '0' else constant(match[1], steps), steps)
             for name, values in BASE.items()
             if (match := re.fullmatch(r'(\S+?)\+(\S+?)x\d+', values))}
    found[series('process_start_time_seconds')] = late(constant(STEP_S * (STEPS - steps), steps), steps)
    return {**found, **world}


def only_scraped_lately(world, steps=20):
    """The process is old, and Prometheus is new to it."""
    return {**young({}, steps), series('process_start_time_seconds'): late(constant(LONG_AGO, steps), steps), **world}


# ---- cases ----

@dataclasses.dataclass
class Case:
    name: str
    world: dict # {series: values}; None: there is no such series
    fires: tuple = ()
    base: dict = None # else of BASE what has to do with it


def propagation(n_in_time, n, labels='outcome="acknowledged"'):
    return {**histogram('udpa_propagation_seconds', {'1.0': n_in_time, '5.0': n_in_time, '+Inf': n_in_time}, CLUSTER),
            series('udpa_propagations_total', labels): counter(n)}


def gauge_cases(alert, name, below, above, steps_of_for, labels=''):
    """Above the threshold it fires after its time; below, or for a shorter time, it does not."""
    one = series(name, labels)
    return [
        Case(f'{alert} fires', {one: then(below, constant(above, steps_of_for + 6), steps_of_for + 6)}, (alert,)),
        Case(f'{alert}: not enough', {one: constant(below)}),
        Case(f'{alert}: not long enough',
             {one: then(below, constant(above, max(steps_of_for - 1, 1)), max(steps_of_for - 1, 1))}
             if steps_of_for else {one: constant(below)}),
    ]


def slow_cases(alert, name, slow, bound):
    """Fast until so many steps ago, and then slow. bound: the threshold."""
    def since(n):
        return {series(name + '_bucket', f'le="{le}"'): f'{counter(FAST[le], STEPS - n)} '
                f'{counter(slow.get(le, 100), n, FAST[le] * (STEPS - n))}' for le in FAST}
    return [
        Case(f'{alert} fires', since(17 * MINUTE), (alert,)),
        Case(f'{alert}: not enough', histogram(name, {**slow, bound: 99.5})),
        Case(f'{alert}: not long enough', since(8 * MINUTE)),
    ]


def seldom(n_per_minute, minutes=10):
    """A counter that rises in the last minutes, by so many each."""
    n = minutes * 60 // STEP_S
    return then(0, counter(n_per_minute * STEP_S / 60, n), n)


MINUTE = 60 // STEP_S
NACKS = series('udpa_nacks_total', CLUSTER)
FAIL_OVERS = series('udpa_source_fail_overs_total', 'source="core"')
LOST = {series('udpa_source_active', 'source="core"'): then(1, constant(0, 40), 40)}
REJECTED = series('udpa_updates_rejected_total', 'code="invalid_argument"')
UNAVAILABLE = series('udpa_receipts_total', 'code="unavailable"')
RESTARTS = ' '.join(constant(LONG_AGO + i * 600, 40) for i in range(8)) + f' {LONG_AGO + 4200}'

QUIET = [
    Case('a healthy node', {}, base=BASE),
    Case('a node on which nothing happens, without most series', {}, base=IDLE),
    Case('a restart', {}, base=restart()),
    Case('a drained node that is off for two minutes', {}, base=drained()),
    Case('a reload', reloaded(), base=BASE),
    Case('a source that restarts, with a standby', upstream_restarts(), base=BASE),
    Case('a node of ten minutes', young({}, 40), base={}),
    Case('other programs of the same Prometheus', {
        'up{job="other",instance="b"}': constant(0), 'process_open_fds{job="other",instance="b"}': constant(9),
        'process_max_fds{job="other",instance="b"}': constant(10),
        'process_start_time_seconds{job="other",instance="b"}': RESTARTS}),
]

NODES = [
    *gauge_cases('UdpaNodeDown', 'up', 1, 0, 3 * MINUTE),
    Case('UdpaNodeRestarts fires', {series('process_start_time_seconds'): RESTARTS}, ('UdpaNodeRestarts',)),
    Case('UdpaNodeRestarts: three times', {series('process_start_time_seconds'):
         f'{constant(LONG_AGO, STEPS - 180)} {constant(1, 60)} {constant(2, 60)} {constant(3, 60)}'}),
    Case('UdpaNodeRestarts: another program of the job', {
        series('process_start_time_seconds').replace('"a"', '"b"'): RESTARTS}),
    *gauge_cases('UdpaWorkerDown', 'udpa_worker_up', 1, 0, MINUTE, 'worker="1"'),
    *slow_cases('UdpaStreamThreadSlow', 'udpa_stream_thread_turn_seconds', SLOW, '0.25'),
    *slow_cases('UdpaLoopSlow', 'udpa_loop_turn_seconds', SLOW, '0.25'),
    *gauge_cases('UdpaOpenFilesNearLimit', 'process_open_fds', 750, 850, 5 * MINUTE),
    Case('UdpaOpenFilesNearLimit: another program of the job', {
        series('process_open_fds').replace('"a"', '"b"'): constant(9),
        series('process_max_fds').replace('"a"', '"b"'): constant(10)}),
    Case('UdpaOpenFilesNearLimit fires of a worker', {
        series('udpa_worker_open_fds', 'worker="1"'): constant(850)}, ('UdpaOpenFilesNearLimit',)),
    *gauge_cases('UdpaLimitNearlyReached', 'udpa_limit_used_ratio', 0.75, 0.85, 15 * MINUTE, 'limit="resources"'),
    Case('UdpaLimitNearlyReached: files have an alert of their own', {
        series('udpa_limit_used_ratio', 'limit="open_files"'): constant(0.9)}),
    *gauge_cases('UdpaCertificateExpiresSoon', 'udpa_certificate_expiry_timestamp_seconds', 7.5 * DAY_S, 6.5 * DAY_S,
                 5 * MINUTE, 'use="socket"'),
    *gauge_cases('UdpaCertificateExpiresNow', 'udpa_certificate_expiry_timestamp_seconds', 7.5 * DAY_S, DAY_S,
                 5 * MINUTE, 'use="socket"'),
    Case('UdpaCertificateExpiresNow fires of one that has expired', {
        series('udpa_certificate_expiry_timestamp_seconds', 'use="source"'): constant(-1)},
         ('UdpaCertificateExpiresNow',)),
]

CLIENTS = [
    *gauge_cases('UdpaClientDoesNotAnswer', 'udpa_oldest_unanswered_seconds', 250, 350, 5 * MINUTE),
    Case('UdpaClientsReject fires at the first NACK', {NACKS: late(constant(1, 4), 4)}, ('UdpaClientsReject',)),
    Case('UdpaClientsReject fires at one more', {NACKS: then(6, constant(7, 20), 20)}, ('UdpaClientsReject',)),
    Case('UdpaClientsReject fires of a young process', young({NACKS: late(constant(1, 4), 4)}),
         ('UdpaClientsReject',), {}),
    Case('UdpaClientsReject: long ago', {NACKS: then(6, constant(7, 70), 70)}),
    Case('UdpaClientsReject: before the first scrape', only_scraped_lately({NACKS: late(constant(9, 20), 20)}), (), {}),
    Case('UdpaManyClientsReject fires', {NACKS: seldom(6, 5), series('udpa_deliveries_total', CLUSTER): counter(2)},
         ('UdpaClientsReject', 'UdpaManyClientsReject')),
    Case('UdpaManyClientsReject: not enough of all', {NACKS: seldom(6, 5)}, ('UdpaClientsReject',)),
    Case('UdpaManyClientsReject: not enough', {NACKS: late(constant(8, 20), 20),
         series('udpa_deliveries_total', CLUSTER): counter(0.1)}, ('UdpaClientsReject',)),
    Case('UdpaManyClientsReject: not long enough', {NACKS: late(constant(100, 3), 3)}, ('UdpaClientsReject',)),
    Case('UdpaHandshakesFail fires', {series('udpa_handshakes_failed_total', 'reason="certificate"'): seldom(20, 11)},
         ('UdpaHandshakesFail',)),
    Case('UdpaHandshakesFail: not enough', {series('udpa_handshakes_failed_total', 'reason="certificate"'):
         seldom(8, 20)}),
    Case('UdpaHandshakesFail: not long enough', {series('udpa_handshakes_failed_total', 'reason="certificate"'):
         seldom(100, 4)}),
    Case('UdpaConnectionsRefused fires', {series('udpa_connections_refused_total', 'reason="max_streams"'):
         seldom(3, 11)}, ('UdpaConnectionsRefused',)),
    Case('UdpaConnectionsRefused: not enough', {series('udpa_connections_refused_total', 'reason="max_streams"'):
         seldom(1.5, 20)}),
    Case('UdpaConnectionsRefused: not long enough', {series('udpa_connections_refused_total', 'reason="max_streams"'):
         seldom(50, 4)}),
    Case('UdpaStreamsRefused fires', {series('udpa_streams_refused_total'): seldom(8, 11)}, ('UdpaStreamsRefused',)),
    Case('UdpaStreamsRefused: not enough', {series('udpa_streams_refused_total'): seldom(4, 20)}),
    Case('UdpaStreamsRefused: not long enough', {series('udpa_streams_refused_total'): seldom(80, 4)}),
]

SOURCES = [
    Case('UdpaSourceUnreachable fires', {**LOST, series('udpa_source_failures_total', 'source="core"'):
         seldom(1, 10)}, ('UdpaSourceUnreachable',)),
    Case('UdpaSourceUnreachable: it is not tried', LOST),
    Case('UdpaSourceUnreachable: it is back', {series('udpa_source_failures_total', 'source="core"'): seldom(4, 10)}),
    Case('UdpaSourceUnreachable: not enough', {**LOST, series('udpa_source_failures_total', 'source="core"'):
         seldom(0.4, 10)}),
    Case('UdpaSourceUnreachable: not long enough', {
        series('udpa_source_active', 'source="core"'): then(1, constant(0, 18), 18),
        series('udpa_source_failures_total', 'source="core"'): seldom(4, 5)}),
    Case('UdpaSourceFailedOver fires', {**LOST, FAIL_OVERS: late(constant(1, 38), 38)}, ('UdpaSourceFailedOver',)),
    Case('UdpaSourceFailedOver fires at one more', {**LOST, FAIL_OVERS: then(2, constant(3, 38), 38)},
         ('UdpaSourceFailedOver',)),
    Case('UdpaSourceFailedOver: it is back', {FAIL_OVERS: late(constant(1, 38), 38)}),
    Case('UdpaSourceFailedOver: long ago', {**LOST, FAIL_OVERS: then(2, constant(3, 300), 300)}),
    Case('UdpaSourceFailedOver: not long enough', {
        FAIL_OVERS: late(constant(1, 18), 18),
        series('udpa_source_active', 'source="core"'): then(1, constant(0, 18), 18)}),
    Case('UdpaSourceFlaps fires', {series('udpa_source_active', 'source="core"'):
         then(1, '0 0 1 1 0 0 1 1 0 0 1 1', 12)}, ('UdpaSourceFlaps',)),
    Case('UdpaSourceFlaps: two restarts', {series('udpa_source_active', 'source="core"'):
         then(1, '0 0 1 1 0 0 1 1', 8)}),
    Case('UdpaUnsynchronized fires', {series('udpa_unsynchronized_seconds'): then(0, '0+15x29', 30)},
         ('UdpaUnsynchronized',)),
    Case('UdpaUnsynchronized: not long enough', {series('udpa_unsynchronized_seconds'): then(0, '0+15x17', 18)}),
    Case('UdpaUnsynchronized: since a moment', {series('udpa_unsynchronized_seconds'): then(0, '0+15x22', 23)}),
    Case('UdpaUnsynchronized: it has ended', {series('udpa_unsynchronized_seconds'):
         then(0, '290+15x2 0 0 0', 6)}),
    Case('UdpaSourceUnreachable: another node tries', {
        **LOST, series('udpa_source_failures_total', 'source="core"').replace('"a"', '"b"'): seldom(4, 10)}),
    Case('UdpaSourceFailedOver: at another node', {
        **LOST, FAIL_OVERS.replace('"a"', '"b"'): late(constant(1, 38), 38)}),
    *gauge_cases('UdpaSourceHeld', 'udpa_source_held', 0, 1, 5 * MINUTE, 'source="core"'),
    *gauge_cases('UdpaFrozen', 'udpa_freezes', 0, 1, 60 * MINUTE),
    Case('UdpaUpdatesRejected fires', {REJECTED: late(constant(15, 30), 30)}, ('UdpaUpdatesRejected',)),
    Case('UdpaUpdatesRejected fires of a young process', young({REJECTED: late(constant(15, 30), 30)}, 40),
         ('UdpaUpdatesRejected',), {}),
    Case('UdpaUpdatesRejected: not enough', {REJECTED: late(constant(8, 30), 30)}),
    Case('UdpaUpdatesRejected: long ago', {REJECTED: then(10, constant(50, 100), 100)}),
    Case('UdpaUpdatesRejected: not long enough', {REJECTED: late(constant(15, 18), 18)}),
    Case('UdpaReceiptsFail fires', {UNAVAILABLE: late(constant(10, 30), 30), series('udpa_receipts_total', 'code="ok"'):
         counter(1), series('udpa_receipts_total', 'code="permission_denied"'): constant(0)}, ('UdpaReceiptsFail',)),
    Case('UdpaReceiptsFail: not enough', {UNAVAILABLE: late(constant(4, 30), 30), series(
        'udpa_receipts_total', 'code="ok"'): constant(1), series('udpa_receipts_total', 'code="permission_denied"'):
        constant(0)}),
    Case('UdpaReceiptsFail: not enough of all', {UNAVAILABLE: late(constant(12, 30), 30)}),
    Case('UdpaReceiptsFail: not long enough', {UNAVAILABLE: late(constant(30, 18), 18)}),
    Case('UdpaSignaturesRejected fires', {series('udpa_signatures_rejected_total'): then(3, constant(4, 8), 8)},
         ('UdpaSignaturesRejected',)),
    Case('UdpaSignaturesRejected: long ago', {series('udpa_signatures_rejected_total'):
         then(3, constant(4, 80), 80)}),
]

STORES = [
    Case('UdpaStoreFails fires', {series('udpa_store_failed_batches_total'): then(2, constant(3, 8), 8)},
         ('UdpaStoreFails',)),
    Case('UdpaStoreFails: long ago', {series('udpa_store_failed_batches_total'): then(2, constant(3, 80), 80)}),
    *gauge_cases('UdpaStoreQueueGrows', 'udpa_store_queued_batches', 80, 150, 10 * MINUTE),
    Case('UdpaStoreQueueGrows: it empties', {
        series('udpa_store_queued_batches'): ' '.join(['150 20 150'] * (STEPS // 3))}),
    *slow_cases('UdpaStoreSlow', 'udpa_store_commit_seconds', SLOW_STORE, '1.0'),
    *gauge_cases('UdpaAuditBehind', 'udpa_audit_output_behind', 0, 3, 15 * MINUTE),
    Case('UdpaAuditBehind: it empties', {series('udpa_audit_output_behind'): ' '.join(['3 0 3'] * (STEPS // 3))}),
    Case('UdpaAuditLost fires', {series('udpa_audit_output_lost_records_total'): then(2, constant(3, 8), 8)},
         ('UdpaAuditLost',)),
    Case('UdpaAuditLost: long ago', {series('udpa_audit_output_lost_records_total'): then(2, constant(3, 300), 300)}),
    *gauge_cases('UdpaSecretsUnreadable', 'udpa_store_unreadable_secrets', 0, 1, 5 * MINUTE),
]

REPLICAS = [
    Case('UdpaReplicaNotCurrent fires', {series('udpa_replica_not_current_seconds'): then(0, '15+15x10', 11)},
         ('UdpaReplicaNotCurrent',)),
    Case('UdpaReplicaNotCurrent: not long enough', {series('udpa_replica_not_current_seconds'):
         then(0, '15+15x5', 6)}),
    Case('UdpaReplicaNotCurrent: it has ended', {series('udpa_replica_not_current_seconds'):
         then(0, '15+15x3 0', 5)}),
    Case('UdpaReplicaSetNotCurrent fires', {
        series('udpa_replica_is_current'): then(1, constant(0, 10), 10),
        'udpa_replica_is_current{job="udpad",instance="b"}': then(1, constant(0, 10), 10)},
         ('UdpaReplicaSetNotCurrent',)),
    Case('UdpaReplicaSetNotCurrent: another one is', {
        series('udpa_replica_is_current'): then(1, constant(0, 10), 10),
        'udpa_replica_is_current{job="udpad",instance="b"}': constant(1)}),
    Case('UdpaReplicaSetNotCurrent: not long enough', {series('udpa_replica_is_current'): then(1, constant(0, 6), 6)}),
    *gauge_cases('UdpaReplicaHeld', 'udpa_replica_is_held', 0, 1, MINUTE),
    Case('UdpaReplicaWouldLose fires', {series('udpa_replica_would_be_lost'): late(constant(1, 8), 8)},
         ('UdpaReplicaWouldLose',)),
    Case('UdpaReplicaWouldLose: nothing', {series('udpa_replica_would_be_lost'): late(constant(0, 8), 8)}),
    Case('UdpaReplicaWouldLose: not long enough', {series('udpa_replica_would_be_lost'): late(constant(1, 3), 3)}),
    *gauge_cases('UdpaEtcdAlarm', 'udpa_replica_etcd_has_alarm', 0, 1, MINUTE),
    *gauge_cases('UdpaEtcdNearQuota', 'udpa_replica_etcd_size_bytes', 1.5e9, 1.7e9, 10 * MINUTE),
    Case('UdpaEtcdNearQuota: the quota is not known', {series('udpa_replica_etcd_quota_bytes'): constant(0)}),
    *gauge_cases('UdpaDirectoriesDiffer', 'udpa_replica_directories_differing', 0, 1, 10 * MINUTE),
    *gauge_cases('UdpaDirectoriesWait', 'udpa_replica_directories_waiting', 0, 1, 10 * MINUTE),
]

FAILS = 'UdpaPropagationFails'
ALL_BURN = (FAILS, FAILS + 'Fast', FAILS + 'Slowly')
PROPAGATION = [
    Case('UdpaPropagationFailsFast fires', propagation(4, 5), ALL_BURN),
    Case('UdpaPropagationFailsFast: not enough', propagation(4.4, 5), (FAILS, FAILS + 'Slowly')),
    Case('UdpaPropagationFailsFast fires if nothing arrives at all', {
        **{series('udpa_propagation_seconds_bucket', f'{CLUSTER},le="{bound}"'): None
           for bound in ('1.0', '5.0', '+Inf')},
        series('udpa_propagations_total', 'outcome="acknowledged"'): None,
        series('udpa_propagations_total', 'outcome="open"'): counter(5)}, ALL_BURN),
    Case('UdpaPropagationFailsFast fires of NACKs', {
        series('udpa_propagations_total', 'outcome="nacked"'): counter(2)}, ALL_BURN),
    Case('UdpaPropagationFailsFast: all have gone', {
        series('udpa_propagations_total', 'outcome="gone"'): counter(500)}),
    Case('UdpaPropagationFailsFast: one of three changes', {
        **{name: late(values, 100) for name, values in propagation(0.02, 0.03).items()}}),
    Case('UdpaPropagationFailsFast: it has ended', {
        series('udpa_propagations_total', 'outcome="open"'):
            f'{counter(5, STEPS - 40)} {constant(5 * (STEPS - 41), 40)}'},
         (FAILS, FAILS + 'Slowly')),
    Case('UdpaPropagationFails fires', propagation(4.4, 5), (FAILS, FAILS + 'Slowly')),
    Case('UdpaPropagationFails: not enough', propagation(4.75, 5), (FAILS + 'Slowly',)),
    Case('UdpaPropagationFails: it has ended', {
        series('udpa_propagations_total', 'outcome="open"'):
            f'{counter(1, STEPS - 140)} {constant(STEPS - 141, 140)}'}, (FAILS + 'Slowly',)),
]
# Of three days, by steps of five minutes.
LONG_STEP_S = 300
LONG_STEPS = 901
LONG_EVALUATION_S = 1800


def long_propagation(n_in_time, n, burst=0):
    """Of so many changes a step so many in time; burst: only in so many of the last steps."""
    values = counter(n_in_time, LONG_STEPS)
    if burst:
        before = LONG_STEPS - burst
        values = f'{counter(n, before)} {counter(n_in_time, burst, n * before)}'
    return {series('up'): constant(1, LONG_STEPS),
            series('udpa_propagation_seconds_bucket', f'{CLUSTER},le="5.0"'): values,
            series('udpa_propagations_total', 'outcome="acknowledged"'): counter(n, LONG_STEPS)}


LONG = [
    Case('UdpaPropagationFailsSlowly fires', long_propagation(98, 100), ('UdpaPropagationFailsSlowly',)),
    Case('UdpaPropagationFailsSlowly: not enough', long_propagation(99.2, 100)),
    Case('UdpaPropagationFailsSlowly fires after its time', long_propagation(96, 100, 231),
         ('UdpaPropagationFailsSlowly',)),
    Case('UdpaPropagationFailsSlowly: not enough in three days', long_propagation(98, 100, 260)),
    Case('UdpaPropagationFailsSlowly: since a moment', long_propagation(96, 100, 219)),
    Case('UdpaPropagationFailsSlowly: not long enough', long_propagation(98, 100, 24)),
    Case('UdpaPropagationFailsSlowly: one of eight', long_propagation(7 / 900, 8 / 900)),
]
WITHOUT_NODES = [
    Case('UdpaNoNode fires', {series('up'): f'{constant(1, STEPS - 80)} stale'}, ('UdpaNoNode',), {}),
    Case('UdpaNoNode: not long enough', {series('up'): f'{constant(1, STEPS - 50)} stale'}, (), {}),
]
CASES = [*QUIET, *NODES, *CLIENTS, *SOURCES, *STORES, *REPLICAS, *PROPAGATION]


# ---- promtool ----

def promtool():
    path = shutil.which('promtool')
    if not path:
        required = os.environ.get('UDPA_REQUIRE_PEERS') == '1'
        print(f'{"failed" if required else "skipped"}: promtool is not installed (Debian: prometheus)')
        sys.exit(1 if required else SKIPPED)
    return path


# What expressions compare with each other.
COMPARED = [
    {'udpa_nacks_total', 'udpa_deliveries_total'},
    {'udpa_replica_etcd_size_bytes', 'udpa_replica_etcd_quota_bytes'},
    {'udpa_propagation_seconds_bucket', 'udpa_propagations_total'},
]


RULES = rules.read_rules((SOURCE / rules.ALERTS).read_text(encoding='utf-8'))
# {alert: labels that its texts name}
LABELS = {rule.name: sorted(set(re.findall(r'\$labels\.(\w+)', ' '.join(rule.fields.values())))) for rule in RULES}


ALERTS = [rule.name for rule in RULES if rule.kind == 'alert']


def world_of(case):
    """With the series of BASE that have the same names, and what an expression divides by."""
    if case.base is not None:
        return {**case.base, **case.world}
    names = {one.split('{')[0] for one in case.world}
    names = names.union(*(group for group in COMPARED if group & names))
    return {**IDLE, **{one: values for one, values in BASE.items() if one.split('{')[0] in names}, **case.world}


def group(cases, step_s, steps):
    """One test of promtool: each case is a job of its own."""
    inputs, checks = [], []
    for number, case in enumerate(cases):
        job = f'job="udpad-{number}"'
        for name, values in world_of(case).items():
            if values:
                inputs.append({'series': name.replace('job="udpad"', job).replace('job="other"', f'job="x-{number}"'),
                               'values': values})
        checks.append({'expr': f'count by (alertname) (ALERTS{{alertstate="firing",{job}}}) # {case.name}',
                       'eval_time': f'{step_s * (steps - 1)}s',
                       'exp_samples': [{'labels': f'{{alertname="{name}"}}', 'value': 1} for name in case.fires]})
        lacking = [f'ALERTS{{alertname="{name}",{job},{label}=""}}' for name in case.fires for label in LABELS[name]]
        if lacking: # what the texts of the alert name
            checks.append({'expr': f'{" or ".join(lacking)} # firing {case.name}',
                           'eval_time': f'{step_s * (steps - 1)}s', 'exp_samples': []})
    return {'interval': f'{step_s}s', 'input_series': inputs, 'promql_expr_test': checks}


def alone(case):
    """A test of a Prometheus that has nothing else, about all alerts."""
    found = group([case], STEP_S, STEPS)
    for one in found['promql_expr_test']:
        one['expr'] = one['expr'].replace(',job="udpad-0"', '')
    return found


def failures(text, work):
    """{name of a case: what promtool prints of it}, with these rules."""
    (work / 'alerts.yaml').write_text(text, encoding='utf-8')
    files = {
        'short': (EVALUATION_S, [group(CASES, STEP_S, STEPS), *map(alone, WITHOUT_NODES)]),
        'long': (LONG_EVALUATION_S, [group(LONG, LONG_STEP_S, LONG_STEPS)]),
    }
    for name, (evaluation_s, tests) in files.items():
        # Without an order promtool takes one by chance: what a rule records then comes a step late, or in time.
        (work / f'{name}.yaml').write_text(json.dumps({
            'rule_files': ['alerts.yaml'], 'evaluation_interval': f'{evaluation_s}s',
            'group_eval_order': re.findall(r'^  - name: (\S+)$', text, re.M), 'tests': tests}), encoding='utf-8')
    done = subprocess.run([promtool(), 'test', 'rules', *(work / f'{name}.yaml' for name in files)],
                          capture_output=True, text=True, check=False)
    found = dict(re.findall(r'# (?:firing )?([^\n]*?)", time:[^\n]*\n((?: {8}[^\n]*\n?)*)',
                            done.stdout + done.stderr))
    if (done.returncode != 0) != bool(found):
        sys.exit(f'promtool: {done.returncode}: {done.stdout}{done.stderr}')
    return found


# ---- planted mistakes ----

THRESHOLD = re.compile(r'(>=?|<|==) (\d[\d.]*(?: \* [\d.]+)?)')


def scaled(factor):
    def change(rule):
        """The last number that is compared with something; 0 and 1 as states stay."""
        found = [match for match in THRESHOLD.finditer(rule.fields['expr']) if match[1] != '==' and match[2] != '0']
        if not found:
            return None
        last = found[0]
        expr = rule.fields['expr']
        return expr[:last.start(2)] + f'{factor} * {last[2]}' + expr[last.end(2):]
    return change


def never(rule):
    return f'({rule.fields["expr"]}) and on () vector(1) > 2'


def without_label(rule):
    """With another name of each label that is matched or listed; behind group_left promtool itself objects."""
    changed = re.sub(r'\b(instance|source|reason|code|outcome|type)\b(?!\) group_left)', r'other_\1',
                     rule.fields['expr'])
    return changed if changed != rule.fields['expr'] else None


PLANTED = {
    'it never fires': ('expr', never, ()),
    'its threshold is three times as high': ('expr', scaled(3), ()),
    'its threshold is a third': ('expr', scaled(0.3), ()),
    'its label is another one': ('expr', without_label, ()),
    'it waits four times as long': ('for', lambda rule: f'{4 * minutes_of(rule)}m', ()),
    'it does not wait': ('for', lambda rule: '0m', ()),
}


def fired():
    return {name for case in [*CASES, *WITHOUT_NODES, *LONG] for name in case.fires}


def minutes_of(rule):
    return int(rule.fields['for'].removesuffix('m'))


def plant(text, field, change):
    """The file with this change of all alerts, and the names of the changed ones."""
    lines, changed = text.split('\n'), set()
    for rule in reversed(rules.read_rules(text)):
        new = change(rule) if rule.kind == 'alert' and field in rule.fields else None
        if new is None:
            continue
        at = next(i for i in range(rule.line, len(lines)) if lines[i].startswith(f'        {field}:'))
        end = at + 1
        while lines[end].startswith(' ' * 10):
            end += 1
        lines[at:end] = [f'        {field}: {new}'] if field == 'for' else [
            f'        {field}: |', *(' ' * 10 + line.strip() for line in new.split('\n'))]
        changed.add(rule.name)
    return '\n'.join(lines), changed


def planted(text, work):
    """(what, alert) of each planted mistake that no case of its alert detects."""
    for what, (field, change, equivalent) in PLANTED.items():
        broken, names = plant(text, field, change)
        found = failures(broken, work)
        detected = {name for name in names if any(re.match(rf'{name}\b', case) for case in found)}
        print(f'{what}: {len(detected)} of {len(names)} alerts', flush=True)
        yield from ((what, name) for name in sorted(names - detected - set(equivalent)))


def main():
    text = (SOURCE / rules.ALERTS).read_text(encoding='utf-8')
    with tempfile.TemporaryDirectory() as name:
        if sys.argv[1:] == ['planted']:
            missed = list(planted(text, pathlib.Path(name)))
            for what, alert in missed:
                print(f'{alert}: {what}: not detected')
            sys.exit(1 if missed else 0)
        done = subprocess.run([promtool(), 'check', 'rules', SOURCE / rules.ALERTS], text=True, capture_output=True,
                              check=False)
        if done.returncode != 0:
            sys.exit(done.stdout + done.stderr)
        found = failures(text, pathlib.Path(name))
    found |= {name: 'no case has it fire\n' for name in ALERTS if name not in fired()}
    for case, what in found.items():
        print(f'{case}:\n{what}')
    print(f'{len(found)} of {len(CASES) + len(WITHOUT_NODES) + len(LONG)} cases failed')
    sys.exit(1 if found else 0)


if __name__ == '__main__':
    main()
