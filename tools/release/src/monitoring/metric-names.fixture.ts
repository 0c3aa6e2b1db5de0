import { metricCatalogue } from '@millrace/platform/telemetry';

/** Metrics of Prometheus itself and of node-exporter that rules and dashboards may use. */
const foreignMetrics = ['ALERTS', 'up', 'node_filesystem_avail_bytes', 'node_filesystem_size_bytes'];

/** Metrics and labels are distinguished by their place: labels are in braces, in `by` or before a comparison in braces. */
export function metricsIn(expr: string): string[] {
  const bare = expr.replaceAll(/\{[^}]*\}/g, '').replaceAll(/\bby \([^)]*\)/g, '');
  return [...bare.matchAll(/\b(?:up|ALERTS|[a-z]+_[a-z0-9_]+)\b(?!\()/g)]
    .map(([name]) => name)
    .filter((name) => !['min_over_time', 'max_over_time', 'histogram_quantile'].includes(name));
}

export const baseOf = (name: string): string => name.replace(/_(bucket|count|sum)$/, '');

/** Names in an expression that no process exposes. */
export function unknownMetrics(expr: string): string[] {
  return metricsIn(expr).filter(
    (name) =>
      metricCatalogue[name] === undefined &&
      metricCatalogue[baseOf(name)]?.type !== 'histogram' &&
      !foreignMetrics.includes(name),
  );
}
