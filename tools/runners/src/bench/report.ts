import type { Machine } from '../common/machine.ts';
import type { CorePlan } from './cores.ts';
import type { BenchAssertion, BenchReport } from './define.ts';
import type { Measure } from './measure.ts';

function renderTable(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? '').length)),
  );
  return rows
    .map((row) =>
      row
        .map((cell, column) => pad(cell, widths[column] ?? 0, column))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Names are aligned left, numbers right. */
function pad(cell: string, width: number, column: number): string {
  return column === 0 ? cell.padEnd(width) : cell.padStart(width);
}

function figureRow(name: string, figure: Measure | number): string[] {
  if (typeof figure === 'number') return [name, String(figure), '', '', '', '', ''];
  const { perSecond, p50Ms, p99Ms, calls, cpuUs, serverCpuUs } = figure;
  return [name, ...[perSecond, p50Ms, p99Ms, calls, cpuUs, serverCpuUs].map(String)];
}

const figureHead = ['figure', 'per second', 'p50 ms', 'p99 ms', 'calls', 'cpu us', 'server cpu us'];

const assertionRow = ({ name, limit, value, ok }: BenchAssertion): string[] => [
  name,
  String(limit),
  String(value),
  ok ? 'ok' : 'FAILED',
];

export function renderReport({ figures, bars }: BenchReport): string {
  const rows = Object.entries(figures).map(([name, figure]) => figureRow(name, figure));
  const tables = [renderTable([figureHead, ...rows])];
  if (bars.length > 0)
    tables.push(renderTable([['assertion', 'limit', 'value', ''], ...bars.map(assertionRow)]));
  return tables.join('\n\n');
}

/** One line for programs, printed last. */
export function reportJson(
  bench: string,
  machine: Machine & { readonly pinned: CorePlan | null },
  { figures, bars }: BenchReport,
): string {
  return JSON.stringify({ bench, machine, figures, bars });
}
