import type { Item } from '@millrace/sdk';
import { parseCents } from '@millrace/sdk/text';

export type TopUp = Item<'listTopUps'>;

export const topUpMinCents = 500;
export const topUpMaxCents = 1_000_000;

/** In dollars. */
export const suggestedAmounts = ['25', '50', '100', '500'] as const;

export function topUpAmount(typed: string): { readonly cents: number } | { readonly wrong: string } {
  const cents = parseCents(typed);
  if (cents === null) return { wrong: 'Enter dollars with at most two decimals, such as 25 or 25.50.' };
  if (cents < topUpMinCents || cents > topUpMaxCents) return { wrong: 'Enter an amount from $5 to $10,000.' };
  return { cents };
}

const inProgressStates: ReadonlySet<string> = new Set(['created', 'open', 'processing']);

export const isInProgress = ({ state }: Pick<TopUp, 'state'>): boolean => inProgressStates.has(state);

const stateLabels: Readonly<Record<TopUp['state'], string>> = {
  created: 'Opening checkout.',
  open: 'Not paid yet.',
  processing: 'Your bank is processing the payment.',
  paid: 'Paid and added to your balance.',
  expired: 'Not paid in time. You were not charged.',
  failed: 'Payment failed. You were not charged.',
  mismatch: 'The paid amount differs from the requested one. The operator must review it.',
  refunded: 'Refunded to the card.',
  disputed: 'Disputed with the bank; the amount is deducted until the dispute is resolved.',
  charged_back: 'Charged back by the bank.',
};

export function topUpStateText(state: string): string {
  return Object.hasOwn(stateLabels, state)
    ? stateLabels[state as TopUp['state']]
    : state.replaceAll('_', ' ');
}

const recentMs = 3_600_000;

/** The newest payment, if the user may just have returned from it. */
export function topUpToWatch(topUps: readonly TopUp[], nowMs: number): TopUp | null {
  const [newest] = topUps;
  if (newest === undefined || nowMs - Date.parse(newest.createdAt) > recentMs) return null;
  return newest;
}

/** The service accepts only HTTPS return URLs; without one it uses the console's own. */
export function returnUrls(pageUrl: string): { readonly successUrl?: string; readonly cancelUrl?: string } {
  const { protocol, origin, pathname } = new URL(pageUrl);
  if (protocol !== 'https:') return {};
  return { successUrl: `${origin}${pathname}?back=paid`, cancelUrl: `${origin}${pathname}?back=cancelled` };
}
