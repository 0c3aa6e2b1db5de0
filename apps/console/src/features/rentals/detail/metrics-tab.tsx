import { ChartLine } from 'lucide-react';
import { useMemo } from 'react';
import { nowMs } from '../../../api/clock.ts';
import { useApiQuery } from '../../../api/queries.ts';
import { Chart } from '../../../ui/chart.tsx';
import { SelectField } from '../../../ui/field.tsx';
import { Card } from '../../../ui/page.tsx';
import { EmptyState, QueryView } from '../../../ui/states.tsx';
import { metricsQuery, scaleBase, buildCharts, formatFor, noMetricsReason, type Metrics } from './metrics.ts';
import { periodNames, periods, type MetricsPeriod } from '../search.ts';
import { hasEnded, type Rental } from '../rental.ts';

export function MetricsTab({
  rental,
  period,
  onPeriod,
}: Readonly<{ rental: Rental; period: MetricsPeriod; onPeriod: (period: MetricsPeriod) => void }>) {
  const { id: rentalId, startedAt } = rental;
  const machineCount = rental.nodes.length;
  const query = useApiQuery<Metrics>(
    ['rentals', 'metrics', rentalId, period, machineCount],
    (client, signal) =>
      client.rentals.getMetrics(
        { rentalId, ...metricsQuery(period, { machineCount, startedAt }, nowMs()) },
        { signal },
      ),
    { refetchMs: hasEnded(rental) ? false : 30_000, keepPrevious: true },
  );
  return (
    <>
      <div className="mb-4 w-48">
        <SelectField
          label="Period"
          value={period}
          onValue={onPeriod}
          choices={periodNames.map((value) => ({ value, label: periods[value].label }))}
        />
      </div>
      <QueryView query={query} what="metrics">
        {(metrics) => <Charts metrics={metrics} rental={rental} />}
      </QueryView>
    </>
  );
}

function Charts({ metrics, rental }: Readonly<{ metrics: Metrics; rental: Rental }>) {
  const charts = useMemo(
    () =>
      buildCharts(metrics).map((chart) => ({
        ...chart,
        format: formatFor(chart.unit),
        base: scaleBase(chart.unit),
      })),
    [metrics],
  );
  if (charts.length === 0) {
    const isMonitored = rental.meta?.monitoring_enabled !== false;
    const { title, text } = noMetricsReason({
      isBareMetal: rental.rentalType === 'bare-metal',
      isMonitored,
      isOver: hasEnded(rental),
    });
    return (
      <Card>
        <EmptyState icon={ChartLine} title={title}>
          {text}
        </EmptyState>
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
