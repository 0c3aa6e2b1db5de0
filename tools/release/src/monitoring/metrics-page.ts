import {
  isListed,
  metricProcesses,
  metricSections,
  type MetricDefinition,
} from '@millrace/platform/telemetry';

/** Renders docs/metrics.md from the catalogue that the processes use. */
export function renderMetricsPage(): string {
  const sections = Object.entries(metricSections).map(([title, metrics]) =>
    [`## ${title}`, '', ...tableOf(metrics)].join('\n'),
  );
  return `${[intro, ...sections].join('\n\n')}\n`;
}

const intro = `# Metrics

This page lists every metric that api, worker and gateway expose. It is generated from
[the catalogue](../packages/platform/src/telemetry/catalogue/index.ts) by \`npm run monitoring\`; do not edit it.
[The monitoring guide](guides/monitoring.md) says how to scrape the processes, and which alerts and dashboards use these metrics.

- **Labels** never contain an organisation, a key, a user or the id of a resource. Model names are chosen by the operator.
- **Series** is the maximum number of time series of one process, with the number of operations, models and clusters that the
  labels column gives. A histogram has one series for each bucket, and two more.
- A gauge of which every worker reports the same value is read with \`max\`, and costs one short query in each worker every 30 seconds.
- The gateway prepares the label sets of its histograms once per model and engine, and records nothing per token.
- Prometheus adds \`up\`, and the SDK adds \`target_info\`.`;

function tableOf(metrics: Readonly<Record<string, MetricDefinition>>): string[] {
  return [
    '| Metric | Type, unit | Processes | Labels | Series | Meaning |',
    '| ------ | ---------- | --------- | ------ | ------ | ------- |',
    ...Object.entries(metrics).map(
      ([name, metric]) =>
        `| ${[
          `\`${name}\``,
          `${metric.type}, ${metric.unit}`,
          processesOf(metric),
          labelsOf(metric),
          String(seriesOf(metric)),
          metric.help,
        ].join(' | ')} |`,
    ),
  ];
}

function processesOf({ processes }: MetricDefinition): string {
  return processes.length === metricProcesses.length ? 'all' : processes.join(', ');
}

function labelsOf({ labels }: MetricDefinition): string {
  const texts = Object.entries(labels).map(([name, values]) =>
    isListed(values)
      ? `\`${name}\`: ${values.map((value) => `\`${value}\``).join(', ')}`
      : `\`${name}\`: ${values.of} (up to ${values.max})`,
  );
  return texts.join('; ') || 'none';
}

function seriesOf({ labels, buckets }: MetricDefinition): number {
  const sets = Object.values(labels).reduce(
    (product, values) => product * (isListed(values) ? values.length : values.max),
    1,
  );
  // One series per bucket, one for infinity, one each for sum and count.
  return sets * (buckets === undefined ? 1 : buckets.length + 3);
}
