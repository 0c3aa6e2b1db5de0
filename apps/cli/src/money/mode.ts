import { usdText } from '@millrace/sdk/text';
import { keyMode } from '../framework/key-mode.ts';
import type { Context } from '../framework/context.ts';

/** Names the mode of the key, and the cost in live mode of what test mode does for free. */

type WithProfile = Pick<Context, 'profile'>;

export function modeOf({ profile }: WithProfile): 'test' | 'live' | null {
  const mode = keyMode(profile.apiKey ?? '');
  return mode === 'test' || mode === 'live' ? mode : null;
}

/** Part of a sentence: ` in test mode`; empty if the mode is not known. */
export function inMode(context: WithProfile): string {
  const mode = modeOf(context);
  return mode === null ? '' : ` in ${mode} mode`;
}

/** Below amounts of test mode; nothing in live mode. */
export function noteTestMode(context: Pick<Context, 'profile' | 'note' | 'output'>): void {
  if (context.output.format === 'json' || modeOf(context) !== 'test') return;
  context.note('Test mode: nothing is charged. Live prices are for comparison.');
}

/** `$0.00/h (live $1.99/h)`; only the amount if there is no live price. */
export function withLive(amount: string, live: string | number | undefined, unit: '' | '/h' = ''): string {
  return live === undefined ? amount : `${amount} (live ${usdText(BigInt(live))}${unit})`;
}

/** A column that test mode shows, and live mode only with `--columns`. */
export function liveColumn<Row>(
  context: WithProfile,
  value: (row: Row) => string | undefined,
  unit: '' | '/h' = '/h',
) {
  return {
    name: 'live',
    align: 'right',
    value: (row: Row) => {
      const nano = value(row);
      return nano === undefined ? '' : `${usdText(nano)}${unit}`;
    },
    ...(modeOf(context) === 'test' ? {} : ({ extra: true } as const)),
  } as const;
}
