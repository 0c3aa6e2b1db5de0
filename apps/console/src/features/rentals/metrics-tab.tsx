import { useMemo } from 'react';
import { nowMs } from '../../api/clock.ts';
import { useApiQuery } from '../../api/queries.ts';
import { Chart } from '../../ui/chart.tsx';
import { SelectField } from '../../ui/field.tsx';
import { Card } from '../../ui/page.tsx';
import { Empty, Shown } from '../../ui/states.tsx';
import {
  askFor,
  baseOf,
  chartsOf,
  formatFor,
  periodNames,
  periods,
  whyNoMetrics,
  type Metrics,
  type Period,
} from './metrics.ts';
import { isOver, type Rental } from './rental.ts';

/** What its GPUs, CPUs and memory do. */
export function MetricsTab({
  rental,
  period,
  onPeriod,
}: {
  readonly rental: Rental;
  readonly period: Period;
  readonly onPeriod: (period: Period) => void;
}) {
  const { id: rentalId, startedAt } = rental;
  const machineCount = rental.nodes.length;
  const query = useApiQuery<Metrics>(
    ['rentals', 'metrics', rentalId, period, machineCount],
    (client, signal) =>
      client.rentals.getMetrics(
        { rentalId, ...askFor(period, { machineCount, startedAt }, nowMs()) },
        { signal },
      ),
    { refetchMs: isOver(rental) ? false : 30_000, keepPrevious: true },
  );
  return (
    <>
      <div className="mb-4 w-48">
        <SelectField
          label="Period"
          value={period}
          onChange={({ target }) => onPeriod(periodNames.find((name) => name === target.value) ?? '1h')}
          choices={periodNames.map((value) => ({ value, label: periods[value].label }))}
        />
      </div>
      <Shown query={query} what="measurements">
        {(metrics) => <Charts metrics={metrics} rental={rental} />}
      </Shown>
    </>
  );
}

function Charts({ metrics, rental }: { readonly metrics: Metrics; readonly rental: Rental }) {
  const charts = useMemo(
    () =>
      chartsOf(metrics).map((chart) => ({
        ...chart,
        format: formatFor(chart.unit),
        base: baseOf(chart.unit),
      })),
    [metrics],
  );
  if (charts.length === 0) {
    const isMonitored = rental.meta?.monitoring_enabled !== false;
    const { title, text } = whyNoMetrics({ isMonitored, isOver: isOver(rental) });
    return (
      <Card>
        <Empty title={title}>{text}</Empty>
      </Card>
    );
  }
  return (
    <div className="grid gap-x-4 lg:grid-cols-2">
      {charts.map(({ name, title, seconds, lines, format, base }) => (
        <Card key={name} title={title}>
          <Chart label={title} seconds={seconds} series={lines} format={format} base={base} />
        </Card>
      ))}
    </div>
  );
}
