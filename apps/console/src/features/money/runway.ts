import type { Output } from '@millrace/sdk';
import { approximateDuration } from '@millrace/sdk/text';

export type Balance = Output<'getBalance'>;

/** Dunning level. The service notifies at the same levels and stops resources at the last one. */
export type RunwayLevel = 'fine' | 'day' | 'hour' | 'quarter' | 'empty';

const runwayLevels: readonly (readonly [RunwayLevel, mostSeconds: number])[] = [
  ['empty', 120],
  ['quarter', 900],
  ['hour', 3_600],
  ['day', 86_400],
];

export function runwayLevel(runwaySeconds: number | null): RunwayLevel {
  if (runwaySeconds === null) return 'fine';
  return runwayLevels.find(([, most]) => runwaySeconds <= most)?.[0] ?? 'fine';
}

/** Beyond this, an end date would be a guess. */
const MAX_NAMED_RUNWAY_SECONDS = 365 * 86_400;

/** When everything running would stop; null if nothing is spent or the end is too far away. */
export function runwayEnd(runwaySeconds: number | null, nowMs: number): Date | null {
  if (runwaySeconds === null || runwaySeconds > MAX_NAMED_RUNWAY_SECONDS) return null;
  return new Date(nowMs + runwaySeconds * 1_000);
}

/** `3 days`, or `Unlimited` if nothing is spent by the hour. */
export function runwayFigure(runwaySeconds: number | null): string {
  if (runwaySeconds === null) return 'Unlimited';
  return runwayEnd(runwaySeconds, 0) === null ? 'Over a year' : approximateDuration(runwaySeconds);
}

const weekMs = 6 * 86_400_000;

/** `Lasts until Tuesday 14:00.`, with the date if it is six days or more away. */
export function runwayText(
  runwaySeconds: number | null,
  nowMs: number,
  { locale, timeZone }: { readonly locale?: string; readonly timeZone?: string } = {},
): string {
  if (runwaySeconds === null) return 'Nothing is billed by the hour.';
  const until = runwayEnd(runwaySeconds, nowMs);
  if (until === null) return 'Lasts more than a year.';
  const isNear = until.getTime() - nowMs < weekMs;
  const day = new Intl.DateTimeFormat(locale, {
    ...(isNear ? { weekday: 'long' } : { dateStyle: 'medium' }),
    ...(timeZone === undefined ? {} : { timeZone }),
  }).format(until);
  const time = new Intl.DateTimeFormat(locale, {
    hour: '2-digit',
    minute: '2-digit',
    ...(timeZone === undefined ? {} : { timeZone }),
  }).format(until);
  return `Lasts until ${day} ${time}.`;
}

export interface Warning {
  readonly tone: 'warn' | 'bad';
  readonly title: string;
  readonly advice: string;
}

/** The most urgent balance warning, or null. */
export function balanceWarning(
  { frozen, runwaySeconds, availableNanoUsd }: Pick<Balance, 'frozen' | 'runwaySeconds' | 'availableNanoUsd'>,
  mode: 'live' | 'test',
): Warning | null {
  if (frozen) {
    return {
      tone: 'bad',
      title: 'Your balance is frozen.',
      advice:
        'You cannot start anything new, for example because of a disputed payment. Contact the operator of this installation with your organisation ID.',
    };
  }
  const level = runwayLevel(runwaySeconds);
  if (level === 'empty') {
    return {
      tone: 'bad',
      title: 'Your balance has run out.',
      advice:
        'Running resources are being stopped. Disks are kept for a limited time, paid from money held for them, then deleted. Add money to keep them.',
    };
  }
  if (level !== 'fine') {
    return {
      tone: level === 'day' ? 'warn' : 'bad',
      title: `Running resources stop in ${approximateDuration(runwaySeconds ?? 0)}.`,
      advice: 'Add money, or stop resources that you do not need.',
    };
  }
  if (mode === 'live' && BigInt(availableNanoUsd) <= 0n) {
    return {
      tone: 'warn',
      title: 'Your balance is empty.',
      advice: 'Add money to rent machines and call models.',
    };
  }
  return null;
}

const nanoPerCent = 10_000_000n;

export function overdraftNano({ maxOverdraftCents }: Pick<Balance, 'maxOverdraftCents'>): bigint {
  return BigInt(maxOverdraftCents) * nanoPerCent;
}
