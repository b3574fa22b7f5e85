#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes monitoring/dashboard.json, for Grafana, from the panels below."""
import json
import pathlib

DASHBOARD = pathlib.Path(__file__).resolve().parent / 'dashboard.json'
NODES = 'job=~"$job",instance=~"$instance"'
RATE = '$__rate_interval'
# Of Grafana 12.
SCHEMA = 41
WIDTH, HEIGHT = 8, 7
COLUMNS = 24


def of(name, more=''):
    return f'{name}{{{NODES}{"," if more else ""}{more}}}'


def rate(name, by, more=''):
    return f'sum by ({by}) (rate({of(name, more)}[{RATE}]))'


def quantile(name, by, q=0.99):
    return f'histogram_quantile({q}, sum by ({by}, le) (rate({of(name + "_bucket")}[{RATE}])))'


def late(n, by):
    """The ratio of the changes that were not acknowledged in time, in the interval of the panel."""
    total = rate('udpa_propagations_total', by, 'outcome=~"acknowledged|nacked|open"')
    in_time = rate('udpa_propagation_seconds_bucket', by, f'le=~"{n}([.]0)?"')
    return f'1 - ({in_time} or 0 * {total}) / {total}'


# {row: [(title, what it shows, unit, [(expression, legend)])]}. A unit "stat:…" is one number instead of a graph.
ROWS = {
    'Overview': [
        ('Nodes that answer', 'Targets that Prometheus reaches.', 'stat:short', [
            ('sum(up{job=~"$job"})', 'up'), ('count(up{job=~"$job"})', 'all')]),
        ('Alerts that fire', 'Of the rules in alerts.yaml; none is 0.', 'stat:short', [
            ('count(ALERTS{alertstate="firing",alertname=~"Udpa.*",job=~"$job"}) or vector(0)', 'alerts')]),
        ('Late changes', 'Changes that not all their clients have acknowledged within 5 s; the objective is below 1 %.',
         'stat:percentunit', [(late(5, 'job'), '{{job}}')]),
        ('Uptime', 'Since the process has started.', 's', [
            (f'time() - {of("process_start_time_seconds")}', '{{instance}}')]),
        ('Resources', 'Effective resources.', 'short', [(f'sum by (type) ({of("udpa_resources")})', '{{type}}')]),
        ('First certificate to expire', 'Time that is left, by use.', 's', [
            (f'{of("udpa_certificate_expiry_timestamp_seconds")} - time()', '{{instance}} {{use}}')]),
    ],
    'Clients': [
        ('Clients', 'Streams of xDS clients that are open.', 'short', [
            (of('udpa_client_streams'), '{{instance}}'),
            (f'{of("udpa_client_streams_share")} > 0', 'share of {{instance}}')]),
        ('Streams by protocol', 'Open, of both directions.', 'short', [
            (f'sum by (protocol) ({of("udpa_sessions")})', '{{protocol}}')]),
        ('New streams', 'A storm of them is clients that connect again.', 'ops', [
            (rate('udpa_sessions_opened_total', 'protocol'), '{{protocol}}')]),
        ('Connections and streams that are rejected', 'By the limit or reason.', 'ops', [
            (rate('udpa_connections_refused_total', 'reason'), 'connection: {{reason}}'),
            (rate('udpa_streams_refused_total', 'instance'), 'stream at {{instance}}'),
            (rate('udpa_streams_cut_off_total', 'instance'), 'certificate at {{instance}}')]),
        ('TLS handshakes', 'closed is also what checks of load balancers do.', 'ops', [
            (rate('udpa_handshakes_total', 'job'), 'succeeded'),
            (rate('udpa_handshakes_failed_total', 'reason'), 'failed: {{reason}}')]),
        ('Denied by the rules', 'Requests of clients, and publications.', 'ops', [
            (rate('udpa_subscriptions_denied_total', 'instance'), 'subscription at {{instance}}'),
            (rate('udpa_publications_denied_total', 'instance'), 'publication at {{instance}}')]),
    ],
    'Deliveries and propagation': [
        ('Deliveries', 'Responses and publications that subscribers were sent.', 'ops', [
            (rate('udpa_deliveries_total', 'type'), '{{type}}')]),
        ('Bytes', 'Of the deliveries, before TLS.', 'Bps', [(rate('udpa_delivery_bytes_total', 'type'), '{{type}}')]),
        ('NACKs', 'The log has client, resource and reason.', 'ops', [(rate('udpa_nacks_total', 'type'), '{{type}}')]),
        ('ACKs', 'Deliveries that were acknowledged.', 'ops', [(rate('udpa_acks_total', 'type'), '{{type}}')]),
        ('Coalesced changes', 'Replaced by a newer one before the slowest subscriber was sent them.', 'ops', [
            (rate('udpa_coalesced_changes_total', 'type'), '{{type}}')]),
        ('From the change to the last ACK', 'Of 99 % of the changes.', 's', [
            (quantile('udpa_propagation_seconds', 'type'), '{{type}}')]),
        ('Answers that clients owe', 'Streams that have not answered; and how long the slowest has not.', 'short', [
            (of('udpa_unanswered_streams'), 'streams at {{instance}}'),
            (of('udpa_oldest_unanswered_seconds'), 'seconds at {{instance}}')]),
        ('Changes by outcome', 'open: not acknowledged after 60 s; gone: the clients have gone.', 'ops', [
            (rate('udpa_propagations_total', 'outcome'), '{{outcome}}')]),
    ],
    'Sources and publications': [
        ('Sources that are active', '1: active. A standby that is not needed is 0.', 'short', [
            (of('udpa_source_active'), '{{source}} at {{instance}}')]),
        ('Losses and fail-overs', 'In the last hour.', 'short', [
            (f'sum by (source) (increase({of("udpa_source_failures_total")}[1h]))', 'failures of {{source}}'),
            (f'sum by (source) (increase({of("udpa_source_fail_overs_total")}[1h]))', 'replaced: {{source}}'),
            (f'sum by (source) (increase({of("udpa_source_fail_backs_total")}[1h]))', 'fail back from {{source}}')]),
        ('Pending', 'For how long the node has waited for a source.', 's', [
            (of('udpa_unsynchronized_seconds'), '{{instance}}')]),
        ('Held', 'Resources that a source no longer names.', 'short', [
            (of('udpa_source_held'), '{{source}} at {{instance}}')]),
        ('Frozen', 'Changes that wait since an operator has frozen their names.', 'short', [
            (of('udpa_frozen_changes'), 'waiting at {{instance}}'),
            (of('udpa_freezes'), 'freezes of {{instance}}')]),
        ('Updates', 'Of sources and publishers.', 'ops', [
            (rate('udpa_updates_accepted_total', 'type'), '{{type}}'),
            (rate('udpa_updates_rejected_total', 'code'), 'rejected: {{code}}')]),
        ('Receipts', 'By the first error in them.', 'ops', [(rate('udpa_receipts_total', 'code'), '{{code}}')]),
    ],
    'Store and replicas': [
        ('Batches', 'What the store has written, and could not.', 'ops', [
            (rate('udpa_store_committed_batches_total', 'instance'), 'written at {{instance}}'),
            (rate('udpa_store_failed_batches_total', 'instance'), 'failed at {{instance}}')]),
        ('Queue', 'Batches that wait for the disk.', 'short', [(of('udpa_store_queued_batches'), '{{instance}}')]),
        ('Until a batch is on the disk', 'Of 99 % of the batches.', 's', [
            (quantile('udpa_store_commit_seconds', 'instance'), '{{instance}}')]),
        ('Audit', 'Records of who has changed what; and those that wait for their file or journald.', 'short', [
            (rate('udpa_audit_records_total', 'instance'), '{{instance}}'),
            (of('udpa_audit_output_behind'), 'wait at {{instance}}')]),
        ('Replicas that are not current', 'Since when; and 1 for those that wait for an operator.', 's', [
            (of('udpa_replica_not_current_seconds'), '{{instance}}'), (of('udpa_replica_is_held'), 'held: {{instance}}')]),
        ('Revisions that a replica lacks', 'Revision of etcd, less that of the replica.', 'short', [
            (f'{of("udpa_replica_etcd_revision")} - {of("udpa_replica_revision")}', '{{instance}}')]),
        ('Database of etcd', 'The quota is known from etcd 3.6 on.', 'bytes', [
            (f'max by (job) ({of("udpa_replica_etcd_size_bytes")})', 'size'),
            (f'max by (job) ({of("udpa_replica_etcd_quota_bytes")}) > 0', 'quota')]),
    ],
    'Processes': [
        ('Processors', 'Of the node and each worker; 1: one processor.', 'short', [
            (rate('process_cpu_seconds_total', 'instance'), '{{instance}}'),
            (rate('udpa_worker_cpu_seconds_total', 'instance, worker'), '{{instance}} worker {{worker}}')]),
        ('Memory', 'Resident.', 'bytes', [
            (of('process_resident_memory_bytes'), '{{instance}}'),
            (of('udpa_worker_resident_memory_bytes'), '{{instance}} worker {{worker}}')]),
        ('Memory by module', 'Of the node and its workers, as far as main structures go.', 'bytes', [
            (f'sum by (module) ({of("udpa_memory_bytes")})', '{{module}}')]),
        ('Open files', 'Beside how many there may be.', 'short', [
            (of('process_open_fds'), '{{instance}}'), (of('process_max_fds'), 'limit of {{instance}}'),
            (of('udpa_worker_open_fds'), '{{instance}} worker {{worker}}')]),
        ('Limits', 'How much of each limit is used.', 'percentunit', [
            (of('udpa_limit_used_ratio'), '{{instance}} {{limit}}')]),
        ('Turns of stream threads', 'Of 99 % of the turns.', 's', [
            (quantile('udpa_stream_thread_turn_seconds', 'instance'), '{{instance}}')]),
        ('Turns of the loop', 'Of 99 % of the turns.', 's', [
            (quantile('udpa_loop_turn_seconds', 'instance'), '{{instance}}')]),
        ('Workers', '1: it has sent its counters.', 'short', [
            (of('udpa_worker_up'), '{{instance}} worker {{worker}}')]),
    ],
}
SOURCE = {'type': 'prometheus', 'uid': '${datasource}'}


def variable(name, query, **more):
    return {'name': name, 'label': name.capitalize(), 'type': 'query', 'datasource': SOURCE, 'definition': query,
            'query': {'query': query, 'refId': 'PrometheusVariableQueryEditor-VariableQuery'}, 'refresh': 2, 'sort': 1,
            'includeAll': True, 'multi': True, 'allValue': '.*', 'current': {'text': ['All'], 'value': ['$__all']},
            **more}


def panel(number, at, title, what, unit, queries):
    kind, _, unit = unit.rpartition(':')
    made = {
        'id': number, 'type': kind or 'timeseries', 'title': title, 'description': what, 'datasource': SOURCE,
        'gridPos': at,
        'fieldConfig': {'defaults': {'unit': unit, 'min': 0}, 'overrides': []},
        'targets': [{'refId': chr(ord('A') + i), 'datasource': SOURCE, 'expr': expr, 'legendFormat': legend,
                     **({'instant': True, 'range': False} if kind else {})} for i, (expr, legend) in enumerate(queries)],
    }
    made['options'] = {'reduceOptions': {'calcs': ['lastNotNull']}} if kind else {
        'legend': {'displayMode': 'list', 'placement': 'bottom'}, 'tooltip': {'mode': 'multi', 'sort': 'desc'}}
    return made


def panels():
    number, y = 1, 0
    for row, content in ROWS.items():
        yield {'id': number, 'type': 'row', 'title': row, 'collapsed': False, 'panels': [],
               'gridPos': {'h': 1, 'w': COLUMNS, 'x': 0, 'y': y}}
        number, y = number + 1, y + 1
        for i, (title, what, unit, queries) in enumerate(content):
            x = i * WIDTH % COLUMNS
            yield panel(number, {'h': HEIGHT, 'w': WIDTH, 'x': x, 'y': y}, title, what, unit, queries)
            number, y = number + 1, y + (HEIGHT if x + WIDTH == COLUMNS else 0)


def dashboard():
    return {
        'uid': 'udpa', 'title': 'UDPA nodes', 'tags': ['udpa'], 'schemaVersion': SCHEMA, 'version': 1, 'editable': True,
        'timezone': 'browser', 'refresh': '30s', 'time': {'from': 'now-1h', 'to': 'now'}, 'graphTooltip': 1,
        'annotations': {'list': []}, 'links': [],
        'templating': {'list': [
            {'name': 'datasource', 'label': 'Data source', 'type': 'datasource', 'query': 'prometheus', 'refresh': 1},
            variable('job', 'label_values(udpa_build_info, job)'),
            variable('instance', 'label_values(udpa_build_info{job=~"$job"}, instance)'),
        ]},
        'panels': list(panels()),
    }


def text():
    return json.dumps(dashboard(), indent=1) + '\n'


if __name__ == '__main__':
    DASHBOARD.write_text(text(), encoding='utf-8')
