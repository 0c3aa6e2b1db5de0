import type { AlertRule, TestSeries } from './alert-rule.ts';

const range = /\[(\d{1,4})([mhd])\]/g;
const secondsOf: Readonly<Record<string, number>> = { m: 60, h: 3_600, d: 86_400 };

/**
 * The rules with each duration divided by `factor`: of `for`, of ranges, and of ages that they compare. A proof can then show in
 * minutes that a fault raises its alert. Thresholds of other values stay, so rules must not compare rates per second with them.
 */
export function inFastTime(rules: readonly AlertRule[], factor: number): readonly AlertRule[] {
  return rules.map((rule) => ({ ...rule, ...timesOf(rule, factor), test: testOf(rule, factor) }));
}

function timesOf({ expr, forMinutes, windowMinutes, ageSeconds }: AlertRule, factor: number) {
  const ranges = expr.replaceAll(
    range,
    (_all, count: string, unit: string) =>
      `[${Math.round((Number(count) * (secondsOf[unit] ?? 0) * 1_000) / factor)}ms]`,
  );
  return {
    expr: ageSeconds === undefined ? ranges : withAge(ranges, ageSeconds, factor),
    forMinutes: forMinutes / factor,
    ...(windowMinutes === undefined ? {} : { windowMinutes: windowMinutes / factor }),
    ...(ageSeconds === undefined ? {} : { ageSeconds: ageSeconds / factor }),
  };
}

function withAge(expr: string, ageSeconds: number, factor: number): string {
  const end = ` > ${ageSeconds}`;
  if (!expr.endsWith(end)) throw new Error(`The expression does not end with${end}: ${expr}`);
  return `${expr.slice(0, -end.length)} > ${ageSeconds / factor}`;
}

function testOf({ test, ageSeconds }: AlertRule, factor: number): AlertRule['test'] {
  if (ageSeconds === undefined) return test;
  const faster = ({ kind, normal, fault, almost }: TestSeries): TestSeries => ({
    kind,
    normal: normal / factor,
    fault: fault / factor,
    almost: almost / factor,
  });
  const series = Object.entries(test.series).map(([name, values]) => [name, faster(values)] as const);
  return { ...test, series: Object.fromEntries(series) };
}
