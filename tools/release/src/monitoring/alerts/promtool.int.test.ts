import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { alertRules } from './index.ts';
import { renderRules, renderRuleTests } from './render-rules.ts';

test('each alert rule fires during its fault, does not fire just below its threshold, and clears', () => {
  const folder = mkdtempSync(join(tmpdir(), 'rules-'));
  try {
    const tests = join(folder, 'rules.test.yml');
    writeFileSync(join(folder, 'rules.yml'), renderRules(alertRules));
    writeFileSync(tests, renderRuleTests(alertRules, 'rules.yml'));
    const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', tests], { encoding: 'utf8' });
    expect(stdout + stderr).not.toContain('FAILED');
    expect(status).toBe(0);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
