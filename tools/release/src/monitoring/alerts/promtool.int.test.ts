import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { alertRules, inFastTime } from './index.ts';
import { renderRules, renderRuleTests } from './render-rules.ts';

/** With a file for each rule, because promtool evaluates all rules of a file in each of its tests. */
function testRules(rules: typeof alertRules, stepMinutes: number): void {
  const folder = mkdtempSync(join(tmpdir(), 'rules-'));
  try {
    const files = rules.map((rule) => {
      const file = join(folder, `${rule.name}.test.yml`);
      writeFileSync(join(folder, `${rule.name}.yml`), renderRules([rule]));
      writeFileSync(file, renderRuleTests([rule], `${rule.name}.yml`, stepMinutes));
      return file;
    });
    const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', ...files], {
      encoding: 'utf8',
    });
    expect(stdout + stderr).not.toContain('FAILED');
    expect(status).toBe(0);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test('each alert rule fires during its fault, does not fire just below its threshold, and clears', () => {
  testRules(alertRules, 1);
});

test('each alert rule in fast time fires and clears during the same faults, six times faster', () => {
  testRules(inFastTime(alertRules, 6), 1 / 6);
});
