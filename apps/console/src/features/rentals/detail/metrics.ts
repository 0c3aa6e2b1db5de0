import type { Output } from '@millrace/sdk';
import type { ScaleBase } from '../../../ui/chart/scale.ts';
import { metricText, splitBy, stepSecondsOf, type MetricUnit } from '@millrace/sdk/text';
import { periods, type MetricsPeriod } from '../search.ts';

/** Charts of a rental: one per measurement, with a line per device. */

export type Metrics = Output<'getRentalMetrics'>;

export interface MetricChart {
  readonly name: string;
  readonly title: string;
  readonly unit: MetricUnit;
  readonly seconds: readonly number[];
  readonly lines: readonly { readonly label: string; readonly values: readonly (number | null)[] }[];
}

/** Limit of the API, shared by the machines of a rental. */
const MAX_POINTS = 1_900;
/** Sample interval; closer points would be interpolated. */
const SAMPLE_INTERVAL_SECONDS = 30;

/** A shorter period would have too few points. */
const MIN_PERIOD_SECONDS = 600;

/** Period until now, starting no earlier than the machine. */
export function metricsQuery(
  period: MetricsPeriod,
  { machineCount, startedAt }: { readonly machineCount: number; readonly startedAt: string | null },
  nowMs: number,
): { readonly from: string; readonly until: string; readonly stepSeconds: number } {
  const aliveSeconds = startedAt === null ? 0 : Math.ceil((nowMs - Date.parse(startedAt)) * 0.001);
  const seconds = Math.min(periods[period].seconds, Math.max(MIN_PERIOD_SECONDS, aliveSeconds));
  const [points] = splitBy(MAX_POINTS, Math.max(1, machineCount));
  const stepSeconds = Math.max(SAMPLE_INTERVAL_SECONDS, stepSecondsOf(seconds, points));
  return {
    from: new Date(nowMs - seconds * 1_000).toISOString(),
    until: new Date(nowMs).toISOString(),
    stepSeconds,
  };
}

const titles: Readonly<Record<string, string>> = {
  'gpu.utilisation': 'GPU',
  'gpu.memory_used': 'GPU memory',
  'cpu.utilisation': 'CPU',
  'memory.used': 'Memory',
  'disk.used': 'Disk',
  'network.received': 'Network, received',
  'network.sent': 'Network, sent',
};
const order = Object.keys(titles);

/** Omits empty series; each machine has its own line. */
export function buildCharts(metrics: Metrics): readonly MetricChart[] {
  const byName = new Map<string, Metrics['series'][number][]>();
  for (const series of metrics.series) {
    if (series.points.every(({ value }) => value === null)) continue;
    const group = byName.get(series.name);
    if (group === undefined) byName.set(series.name, [series]);
    else group.push(series);
  }
  const labelOf = deviceLabels(metrics);
  const charts = [...byName].map(([name, group]) => chartOf(name, group, labelOf));
  return charts.toSorted((one, other) => chartOrder(one.name) - chartOrder(other.name));
}

function chartOrder(name: string): number {
  const index = order.indexOf(name);
  return index < 0 ? order.length : index;
}

/** Numbers GPUs by address on each machine; other devices keep their name. */
function deviceLabels({ series }: Metrics): (device: string) => string {
  const gpus = new Set(
    series.flatMap(({ name, device }) => (name.startsWith('gpu.') && device !== null ? [device] : [])),
  );
  const byMachine = new Map<string, string[]>();
  for (const device of [...gpus].toSorted()) {
    const [machine] = splitDevice(device);
    byMachine.set(machine, [...(byMachine.get(machine) ?? []), device]);
  }
  return (device) => {
    const [machine] = splitDevice(device);
    const index = byMachine.get(machine)?.indexOf(device) ?? -1;
    if (index < 0) return device;
    return machine === '' ? `GPU ${String(index)}` : `${machine} GPU ${String(index)}`;
  };
}

/** Splits `node-1/0000:01:00.0`; rentals with one machine have the address only. */
function splitDevice(device: string): readonly [machine: string, address: string] {
  const at = device.indexOf('/');
  return at < 0 ? ['', device] : [device.slice(0, at), device.slice(at + 1)];
}

/** All series of a response share one time grid. */
function chartOf(
  name: string,
  group: readonly Metrics['series'][number][],
  labelOf: (device: string) => string,
): MetricChart {
  const [first] = group;
  const title = titles[name] ?? name;
  return {
    name,
    title,
    unit: first?.unit ?? 'count',
    seconds: (first?.points ?? []).map(({ at }) => Math.floor(Date.parse(at) * 0.001)),
    lines: group.map(({ device, points }) => ({
      label: device === null ? title : labelOf(device),
      values: points.map(({ value }) => value),
    })),
  };
}

export function formatFor(unit: MetricUnit): (value: number) => string {
  return (value) => metricText(value, unit);
}

export function scaleBase(unit: MetricUnit): ScaleBase {
  if (unit === 'percent') return 'percent';
  return unit === 'bytes' || unit === 'bytes_per_second' ? 'binary' : 'decimal';
}

export function noMetricsReason(rental: {
  readonly isBareMetal: boolean;
  readonly isMonitored: boolean;
  readonly isOver: boolean;
}): {
  readonly title: string;
  readonly text: string;
} {
  if (rental.isBareMetal && !rental.isMonitored) {
    return {
      title: 'Bare metal has no metrics',
      text: 'The machine runs no software of this service. Use a monitoring tool of your own on it.',
    };
  }
  if (!rental.isMonitored) {
    return {
      title: 'Monitoring is off for this rental',
      text: 'The rental was created without monitoring. You cannot enable it later.',
    };
  }
  return {
    title: 'No data in this period',
    text: rental.isOver
      ? 'Metrics are kept for 7 days.'
      : 'Machines are sampled every 30 seconds while they run. Check again in a minute.',
  };
}
