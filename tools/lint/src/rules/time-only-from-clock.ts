import { isGlobal, isMember, propertyName } from '../ast.ts';
import type { Call, ImportDeclaration, Rule, RuleContext } from '../ast.ts';

const message =
  'Only platform/clock may read the time or wait. Take a `Clock` (of @millrace/platform/clock) as an argument and call ' +
  '`clock.nowMs()`, `clock.now()`, `clock.monotonicMs()` or `clock.sleep(ms)`, so that a test can control it.';

const timers = ['setTimeout', 'setInterval'];
const modules = new Set([
  'node:timers',
  'node:timers/promises',
  'timers',
  'timers/promises',
  'node:perf_hooks',
]);
const readings: Readonly<Record<string, readonly string[]>> = {
  Date: ['now'],
  performance: ['now', 'timeOrigin'],
  process: ['hrtime', 'uptime'],
};

function readsSystemTime(context: RuleContext, call: Call): boolean {
  const { callee } = call;
  if (isGlobal(context, callee, 'Date')) return call.type === 'CallExpression' || call.arguments.length === 0;
  if (timers.some((timer) => isGlobal(context, callee, timer))) return true;
  if (!isMember(callee)) return false;
  // process.hrtime.bigint() has one more level.
  const reading = propertyName(callee) === 'bigint' && isMember(callee.object) ? callee.object : callee;
  const name = propertyName(reading);
  return Object.entries(readings).some(
    ([object, names]) =>
      name !== undefined && names.includes(name) && isGlobal(context, reading.object, object),
  );
}

/** Code that reads the system clock can be tested only by waiting, and the waits differ between machines. */
export const timeOnlyFromClock: Rule = {
  meta: { type: 'problem', docs: { description: 'only platform/clock reads the time or waits' } },
  create(context) {
    const check = (node: Call): void => {
      if (readsSystemTime(context, node)) context.report({ node, message });
    };
    return {
      CallExpression: check,
      NewExpression: check,
      ImportDeclaration(node: ImportDeclaration) {
        if (modules.has(node.source.value)) context.report({ node, message });
      },
    };
  },
};
