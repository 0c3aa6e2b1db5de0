import type { Item } from '@millrace/sdk';
import { parseCents } from '@millrace/sdk/text';

export type TopUp = Item<'listTopUps'>;

export const topUpMinCents = 500;
export const topUpMaxCents = 1_000_000;

/** Amounts to choose from, in dollars. */
export const suggestedAmounts = ['25', '50', '100', '500'] as const;

/** The cents of what was typed, or what is wrong with it. */
export function topUpAmount(typed: string): { readonly cents: number } | { readonly wrong: string } {
  const cents = parseCents(typed);
  if (cents === null) return { wrong: 'Dollars with at most two decimals, such as 25 or 25.50.' };
  if (cents < topUpMinCents || cents > topUpMaxCents) return { wrong: 'From $5 to $10,000 at once.' };
  return { cents };
}

const inProgressStates: ReadonlySet<string> = new Set(['created', 'open', 'processing']);

export const isInProgress = ({ state }: Pick<TopUp, 'state'>): boolean => inProgressStates.has(state);

const stateLabels: Readonly<Record<TopUp['state'], string>> = {
  created: 'The page to pay on is being made.',
  open: 'Not paid yet.',
  processing: 'Your bank is working on it.',
  paid: 'Paid, and in your balance.',
  expired: 'Not paid in time. Nothing was charged.',
  failed: 'It could not be paid. Nothing was charged.',
  mismatch: 'What was paid is not what was asked for. The operator has to look at it.',
  refunded: 'Paid back to the card.',
  disputed: 'Disputed with the bank, so the money was taken back for now.',
  charged_back: 'The bank took it back.',
};

export function topUpStateText(state: string): string {
  return Object.hasOwn(stateLabels, state)
    ? stateLabels[state as TopUp['state']]
    : state.replaceAll('_', ' ');
}

const recentMs = 3_600_000;

/** The one that somebody may just have come back from paying: the newest, while it is of interest. */
export function topUpToWatch(topUps: readonly TopUp[], nowMs: number): TopUp | null {
  const [newest] = topUps;
  if (newest === undefined || nowMs - Date.parse(newest.createdAt) > recentMs) return null;
  return newest;
}

/** Only https is taken as the address to come back to; without one the service uses the console's own. */
export function returnUrls(pageUrl: string): { readonly successUrl?: string; readonly cancelUrl?: string } {
  const { protocol, origin, pathname } = new URL(pageUrl);
  if (protocol !== 'https:') return {};
  return { successUrl: `${origin}${pathname}?back=paid`, cancelUrl: `${origin}${pathname}?back=cancelled` };
}
