# SPDX-License-Identifier: Apache-2.0
"""The table, in Markdown: what was to be shown, what came of it, and the figures of each run."""
import figures
import reporting
from figures import Verdict, at, of_changes

FEW_STREAMS = 100
NOTHING = '–'

def of_many(runs, label):
    """Memory per stream; of a few it is that of other things."""
    if runs.get(label, 'streams') < FEW_STREAMS:
        raise figures.Missing(f'{label}: few streams')
    return figures.stream_kb(runs, label)


# Title, the figure, its factor, and whether it is compared with that of udpad.
COLUMNS = (
    ('CPU, s per million deliveries', of_changes('changes.server_cpu_s_per_million'), 1, True),
    ("the client's", of_changes('changes.client_cpu_s_per_million'), 1, False),
    ('deliveries/s', of_changes('changes.per_s'), 1, False),
    ('p50, ms', of_changes('changes.p50_us'), 1e-3, False),
    ('p99, ms', of_changes('changes.p99_us'), 1e-3, False),
    ('slowest stream, p50, ms', of_changes('changes.last_p50_us'), 1e-3, True),
    ('sync, ms', at('sync.ms'), 1, True),
    ('sync, CPU, ms', at('sync.server_cpu_ms'), 1, False),
    ('connect, CPU, ms', at('connect.server_cpu_ms'), 1, False),
    ('reconnect, ms', at('reconnect.ms'), 1, False),
    ('CPU, s per million reports', at(reporting.CPU), 1, True),
    ("the reporting clients'", at('reports.client_cpu_s_per_million'), 1, False),
    ('reports/s', at('reports.per_s'), 1, False),
    ('the sum is behind, ms', at('sum.late_ms'), 1, False),
    ('memory per stream, kB', of_many, 1, False),
    ('memory, MB', figures.memory_mb, 1, False),
)


def show(value):
    """Three digits that mean something, thousands kept apart."""
    if value is None:
        return NOTHING
    if value == 0:
        return '0'
    if abs(value) >= 100:
        return f'{value:,.0f}'
    digits = 1 if abs(value) >= 10 else 2
    return f'{value:.{digits}f}' if abs(value) >= 0.05 else f'{value:.2g}'


def with_unit(value, line):
    if value is None:
        return NOTHING
    return f'{show(value)}{"" if line.unit in ("x", "", "/s") else " "}{line.unit}'


def bound(value, line):
    if value is None:
        return NOTHING
    unit = line.unit if line.unit in ('x', '', '/s') else f' {line.unit}'
    return f'{">=" if line.is_more_better else "<="} {value:,g}{unit}'


def parts(judgement):
    """What a figure was made of, unless it is made of nothing else."""
    if len(judgement.parts) < 2:
        return ''
    unit = f' {judgement.line.figure.unit}'.rstrip()
    return ', '.join(f'{label} {show(value)}' for label, value in judgement.parts) + unit


def rows(header, lines):
    yield f'| {" | ".join(header)} |'
    yield '|' + '---|' * len(header)
    for line in lines:
        yield f'| {" | ".join(" ".join(text.split()).replace("|", "/") for text in line)} |'


def judgements(points, runs):
    """(point, judgement) of each line; runs: figures.Runs by the name of a point."""
    return [(point, figures.judge(line, runs[point.name])) for point in points
            for line in point.lines]


def of_verdict(judgement):
    text = judgement.verdict.value
    return f'{text} ({judgement.why})' if judgement.why else text


def must_table(judged):
    return rows(('point', 'figure', 'measured', 'of', 'must', 'aim', ''),
                ((f'{point.title} (`{point.name}`)', one.line.title, with_unit(one.value, one.line),
                  parts(one), bound(one.line.must, one.line), bound(one.line.aim, one.line),
                  of_verdict(one))
                 for point, one in judged))


def value_of(runs, label, figure):
    try:
        return figure(runs, label)
    except figures.Missing:
        return None


def reference(point, run):
    """What a run is compared with: the same load on udpad."""
    same = [other for other in point.runs
            if other.server in ('udpad', 'udpad-reports') and other.load == run.load]
    return same[0].label if same and same[0].label != run.label else None


def cell(point, run, runs, column):
    _, figure, scale, is_compared = column
    value = value_of(runs, run.label, figure)
    if value is None:
        return NOTHING
    other = reference(point, run)
    ours = value_of(runs, other, figure) if is_compared and other else None
    return show(value * scale) + (f' ({show(value / ours)}x)' if ours else '')


def figure_table(points, runs):
    used = [column for column in COLUMNS
            if any(value_of(runs[point.name], run.label, column[1]) is not None
                   for point in points for run in point.runs)]

    def lines():
        for point in points:
            for run in point.runs:
                if run.label in runs[point.name].results:
                    cells = [cell(point, run, runs[point.name], column) for column in used]
                else:
                    cells = [runs[point.name].why(run.label)] + [''] * (len(used) - 1)
                yield (f'`{point.name}`', run.label, *cells)

    return rows(('point', 'run', *(column[0] for column in used)), lines()) if used else ()


def summary(judged):
    counts = {verdict: sum(one.verdict is verdict for _, one in judged) for verdict in Verdict}
    return ', '.join(f'{n} {verdict.value}' for verdict, n in counts.items() if n)


def report(machine, conditions, points, runs):
    """The whole, line by line. conditions: a sentence on how it was measured."""
    judged = judgements(points, runs)
    yield ', '.join(f'{what} {text}' for what, text in machine.items()) + '.'
    yield conditions
    yield ''
    yield from must_table(judged)
    yield ''
    yield from figure_table(points, runs)
    yield ''
    yield f'In parentheses: how many times the figure of udpad. Lines: {summary(judged)}.'
