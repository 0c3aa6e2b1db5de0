import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { metricCatalogue, metricSections } from '@millrace/platform/telemetry';
import { expect, test } from 'vitest';
import { renderMetricsPage } from './metrics-page.ts';

const root = join(import.meta.dirname, '../../../..');

const sources = globSync('{packages,apps}/*/src/**/*.ts', {
  cwd: root,
  exclude: (file) => /\.(test|fixture)\.ts$|node_modules|telemetry\/catalogue/.test(file),
}).map((file) => readFileSync(join(root, file), 'utf8'));

test('every metric of the catalogue is recorded by the code', () => {
  const text = sources.join('\n');
  const recorded = new Set(
    [...text.matchAll(/\b(?:counter|gauge|histogram|preparedHistogram)\('([a-z0-9_]+)'\)/g)].map(
      ([, name]) => name,
    ),
  );
  expect(recorded.size).toBeGreaterThan(50);
  expect(Object.keys(metricCatalogue).filter((name) => !recorded.has(name))).toEqual([]);
});

test('docs/metrics.md has every metric once, and no section repeats a name', () => {
  const page = renderMetricsPage();
  for (const name of Object.keys(metricCatalogue))
    expect(page.split(`| \`${name}\` |`), name).toHaveLength(2);
  const names = Object.values(metricSections).flatMap((metrics) => Object.keys(metrics));
  expect(names).toHaveLength(Object.keys(metricCatalogue).length);
});

test('no metric has a label for an organisation, a key, a user or a resource', () => {
  const labels = Object.values(metricCatalogue).flatMap((metric) => Object.keys(metric.labels));
  const refused = /org|tenant|user|key|rental|volume|request_id|machine/;
  expect(labels.filter((label) => refused.test(label))).toEqual([]);
});
