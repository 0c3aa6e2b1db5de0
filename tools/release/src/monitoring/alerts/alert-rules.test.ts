import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { metricsIn, unknownMetrics } from '../metric-names.fixture.ts';
import { alertRules, type AlertRule } from './index.ts';
import { renderRuleTests, renderRules } from './render-rules.ts';

const root = join(import.meta.dirname, '../../../../..');

test.each(alertRules)('$name uses only metrics of the catalogue or listed foreign ones', ({ expr }) => {
  expect(metricsIn(expr).length).toBeGreaterThan(0);
  expect(unknownMetrics(expr)).toEqual([]);
});

test.each(alertRules)(
  '$name has a runbook with meaning, effect, check, remedy and recovery',
  ({ name, page }) => {
    const text = readFileSync(join(root, `docs/runbooks/alerts/${page}.md`), 'utf8');
    const [, section = ''] = text.split(`## ${name}\n`);
    const [own = ''] = section.split('\n## ');
    for (const part of ['Meaning', 'Effect on tenants', 'Confirm', 'Do', 'Recovered when']) {
      expect(own, `${page}.md, ${name}`).toMatch(new RegExp(`- \\*\\*${part}:\\*\\* \\S`));
    }
  },
);

test.each(alertRules)(
  '$name is tested with a series for each metric that it uses',
  ({ expr, test: { series } }) => {
    const tested = new Set(Object.keys(series).map((text) => text.replace(/\{.*/, '')));
    for (const name of metricsIn(expr)) expect(tested).toContain(name);
    // Values that only just do not fire differ from those of the fault.
    expect(Object.values(series).some(({ fault, almost }) => fault !== almost)).toBe(true);
  },
);

test('names are unique, and a process may restart for 30 seconds without a page', () => {
  expect(new Set(alertRules.map(({ name }) => name)).size).toBe(alertRules.length);
  const ofRestart = (rule: AlertRule): boolean =>
    /\bup\{|millrace_ready|millrace_check_failing/.test(rule.expr);
  const early = alertRules.filter((rule) => ofRestart(rule) && rule.forMinutes < 1);
  expect(early).toEqual([]);
});

test('renderRules writes each rule with its severity, summary and runbook', () => {
  const [rule] = alertRules;
  if (rule === undefined) throw new Error('There are no rules.');
  expect(renderRules([rule])).toContain('runbook: docs/runbooks/alerts/processes.md#millraceprocessdown');
  const tests = JSON.parse(renderRuleTests([rule], 'some.yml')) as { tests: { alert_rule_test: object[] }[] };
  expect(tests.tests.map((group) => group.alert_rule_test.length)).toEqual([3, 1]);
});
