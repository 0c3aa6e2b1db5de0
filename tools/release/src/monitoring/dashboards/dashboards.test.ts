import { metricCatalogue } from '@millrace/platform/telemetry';
import { expect, test } from 'vitest';
import { baseOf, metricsIn, unknownMetrics } from '../metric-names.fixture.ts';
import { dashboards } from './index.ts';
import { renderDashboard } from './render-dashboard.ts';

const panels = dashboards.flatMap((dashboard) =>
  dashboard.panels.map((panel) => ({ ...panel, name: `${dashboard.name}: ${panel.title}` })),
);
/** Labels that Prometheus and node-exporter add. */
const foreignLabels = ['job', 'instance', 'mountpoint'];

function labelsIn(expr: string): string[] {
  const [, grouped] = /\bby \(([^)]*)\)/.exec(expr) ?? [];
  if (grouped !== undefined) return grouped.split(', ');
  if (/\b(?:sum|min|max|count)\(/.test(expr)) return [];
  const labels = metricsIn(expr).flatMap((name) => {
    const definition = metricCatalogue[name] ?? metricCatalogue[baseOf(name)];
    return Object.keys(definition?.labels ?? {});
  });
  return [...labels, ...foreignLabels];
}

test.each(panels)('$name uses only metrics of the catalogue or listed foreign ones', ({ queries }) => {
  for (const { expr } of queries) {
    expect(metricsIn(expr).length).toBeGreaterThan(0);
    expect(unknownMetrics(expr)).toEqual([]);
  }
});

test.each(panels)('$name names series by labels that its queries return', ({ queries }) => {
  for (const { expr, legend } of queries)
    for (const [, label = ''] of legend.matchAll(/\{\{(\w+)\}\}/g)) expect(labelsIn(expr)).toContain(label);
});

test('titles are unique within a dashboard, and names among dashboards', () => {
  expect(new Set(panels.map(({ name }) => name)).size).toBe(panels.length);
  expect(new Set(dashboards.map(({ name }) => name)).size).toBe(dashboards.length);
});

interface RenderedPanel {
  readonly id: number;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets: readonly { readonly refId: string }[];
}

test.each(dashboards)('panels of the dashboard $name do not overlap and fit into the grid', (dashboard) => {
  const rendered = JSON.parse(renderDashboard(dashboard)) as { readonly panels: readonly RenderedPanel[] };
  const cells = rendered.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, nth) => `${x + (nth % w)},${y + Math.floor(nth / w)}`),
  );
  expect(new Set(cells).size).toBe(cells.length);
  expect(rendered.panels.every(({ gridPos: { x, w } }) => x + w <= 24)).toBe(true);
  expect(new Set(rendered.panels.map(({ id }) => id)).size).toBe(rendered.panels.length);
  for (const { targets } of rendered.panels)
    expect(new Set(targets.map(({ refId }) => refId)).size).toBe(targets.length);
});
