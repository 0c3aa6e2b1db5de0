import type { Output } from '@millrace/sdk';
import { approximateDuration } from '@millrace/sdk/text';

export type Balance = Output<'getBalance'>;

/** How near the end of the money is. The service warns at the same steps, and stops what runs at the last. */
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

/** Beyond this a day of the week says nothing any more, and a date is only a guess. */
const MAX_NAMED_RUNWAY_SECONDS = 365 * 86_400;

/** When everything that runs now would stop; null when nothing is spent, or when it is too far away to name. */
export function runwayEnd(runwaySeconds: number | null, nowMs: number): Date | null {
  if (runwaySeconds === null || runwaySeconds > MAX_NAMED_RUNWAY_SECONDS) return null;
  return new Date(nowMs + runwaySeconds * 1_000);
}

const weekMs = 6 * 86_400_000;

/** `at this pace until Tuesday 14:00`; further away with the date, because a day of the week comes again. */
export function runwayText(
  runwaySeconds: number | null,
  nowMs: number,
  { locale, timeZone }: { readonly locale?: string; readonly timeZone?: string } = {},
): string {
  if (runwaySeconds === null) return 'No end: nothing is being spent by the hour.';
  const until = runwayEnd(runwaySeconds, nowMs);
  if (until === null) return 'At this pace for more than a year.';
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
  return `At this pace until ${day} ${time}.`;
}

export interface Warning {
  readonly tone: 'warn' | 'bad';
  readonly title: string;
  readonly advice: string;
}

/** What one should know of the money before anything else; null when all is well. */
export function balanceWarning(
  { frozen, runwaySeconds, availableNanoUsd }: Pick<Balance, 'frozen' | 'runwaySeconds' | 'availableNanoUsd'>,
  mode: 'live' | 'test',
): Warning | null {
  if (frozen) {
    return {
      tone: 'bad',
      title: 'Your money is frozen.',
      advice:
        'Nothing new can be started, as after a payment that was disputed. Only the operator of this installation can free it: ask them, and name your organisation.',
    };
  }
  const level = runwayLevel(runwaySeconds);
  if (level === 'empty') {
    return {
      tone: 'bad',
      title: 'The money has run out.',
      advice:
        'What runs is being stopped. Disks are kept for a while out of what was set aside for them, and then deleted. Add money now to keep them.',
    };
  }
  if (level !== 'fine') {
    return {
      tone: level === 'day' ? 'warn' : 'bad',
      title: `What runs stops in ${approximateDuration(runwaySeconds ?? 0)}.`,
      advice: 'Add money, or stop something that you do not need.',
    };
  }
  if (mode === 'live' && BigInt(availableNanoUsd) <= 0n) {
    return {
      tone: 'warn',
      title: 'There is nothing to spend.',
      advice: 'Add money to rent machines and to call models.',
    };
  }
  return null;
}

const nanoPerCent = 10_000_000n;

export function overdraftNano({ maxOverdraftCents }: Pick<Balance, 'maxOverdraftCents'>): bigint {
  return BigInt(maxOverdraftCents) * nanoPerCent;
}
