import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { dashboards } from './index.ts';

/** promtool checks only rules, so each query is written as a recording rule. */
function checkQueries(exprs: readonly string[]): { readonly status: number | null; readonly output: string } {
  const folder = mkdtempSync(join(tmpdir(), 'dashboards-'));
  try {
    const file = join(folder, 'queries.yml');
    const rules = exprs.map((expr, nth) => ({ record: `query_${nth}`, expr }));
    // YAML contains JSON.
    writeFileSync(file, JSON.stringify({ groups: [{ name: 'queries', rules }] }));
    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'rules', file], { encoding: 'utf8' });
    return { status, output: stdout + stderr };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test('promtool accepts each query of each dashboard', () => {
  const exprs = dashboards.flatMap(({ panels }) =>
    panels.flatMap(({ queries }) => queries.map(({ expr }) => expr)),
  );
  const { status, output } = checkQueries(exprs);
  expect(output).toContain(`${exprs.length} rules found`);
  expect(status).toBe(0);
});

test('promtool refuses a query with an error, so the test above can fail', () => {
  expect(checkQueries(['sum by (le) rate(up[5m])']).status).not.toBe(0);
});
