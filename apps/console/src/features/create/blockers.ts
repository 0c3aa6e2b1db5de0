import { ApiError, type Output } from '@millrace/sdk';
import { usdText } from '@millrace/sdk/text';
import type { Field, Issues } from './draft.ts';
import { countIssue, type RentalSpec } from '../catalog/selection.ts';
import type { Budget } from '../money/budgets.ts';

/** Finds the reasons why Create is disabled: everything that the service would reject and that is already known. */

export type Quote = Output<'quoteRental'>;

/** Link or action that removes a blocker. */
export type BlockerFix = 'top-up' | 'budgets' | 'ssh-key' | 'alternatives' | 'catalog' | 'team';

export interface Blocker {
  readonly why: string;
  readonly step: BlockerFix | null;
}

export type QuoteState =
  | { readonly state: 'waiting' }
  | { readonly state: 'refused'; readonly message: string; readonly reason: string | null }
  | { readonly state: 'told'; readonly quote: Quote };

export interface BlockerContext {
  readonly mayNot: string | false;
  readonly isSuspended: boolean;
  readonly isFrozen: boolean;
  readonly spec: RentalSpec;
  readonly issues: Issues;
  /** Number of selected SSH keys; null while loading. */
  readonly keysChosen: number | null;
  readonly priced: QuoteState;
  /** Available balance; null if unknown or hidden from this user. */
  readonly availableNanoUsd: string | null;
  readonly budgets: readonly Budget[];
  readonly maxNanoUsd: bigint | null;
  readonly ttlSeconds: number | null;
}

const blocker = (why: string, step: BlockerFix | null = null): Blocker => ({ why, step });

const fieldNames: Partial<Readonly<Record<Field, string>>> = {
  name: 'Name',
  ttl: 'Time to live',
  maxUsd: 'Spending limit',
  idleAfter: 'Idle rule',
  tags: 'Tags',
  ports: 'Ports',
  userData: 'User data',
  volumeId: 'Volume',
  volumeLabel: 'New volume label',
  volumeGb: 'New volume size',
};

/** Most important first: the button shows the first one, the list below it all of them. */
export function findBlockers(standing: BlockerContext): readonly Blocker[] {
  const { mayNot, isSuspended, isFrozen, spec, issues, keysChosen, priced } = standing;
  const count = countIssue(spec);
  return [
    ...(mayNot === false ? [] : [blocker(mayNot, 'team')]),
    ...(isSuspended ? [blocker('Your organisation is suspended. Contact the operator.')] : []),
    ...(isFrozen
      ? [
          blocker(
            'Your balance is frozen, for example because of a disputed payment. Resolve the dispute or contact the operator.',
          ),
        ]
      : []),
    ...(count === null ? [] : [blocker(count)]),
    ...Object.entries(issues).map(([field, text]) =>
      blocker(`${fieldNames[field as Field] ?? field}: ${text}`),
    ),
    ...(keysChosen === 0
      ? [blocker('Choose at least one SSH key. You cannot log in without one.', 'ssh-key')]
      : []),
    ...(keysChosen === null ? [blocker('Loading your SSH keys…')] : []),
    ...(count === null ? quoteBlockers(priced, standing) : []),
  ];
}

function quoteBlockers(priced: QuoteState, standing: BlockerContext): readonly Blocker[] {
  switch (priced.state) {
    case 'waiting':
      return [blocker('Getting the price…')];
    case 'refused':
      return [blocker(priced.message, fixForReason(priced.reason))];
    case 'told':
      return [...capacityBlockers(priced.quote), ...moneyBlockers(priced.quote, standing)];
  }
}

function capacityBlockers({ available }: Quote): readonly Blocker[] {
  return available ? [] : [blocker('No capacity right now.', 'alternatives')];
}

function moneyBlockers(quote: Quote, standing: BlockerContext): readonly Blocker[] {
  const { availableNanoUsd, budgets, maxNanoUsd } = standing;
  const hold = BigInt(quote.holdNanoUsd);
  const has = availableNanoUsd === null ? '' : `, and have ${usdText(availableNanoUsd)}`;
  const known = knownCost(quote, standing.ttlSeconds);
  return [
    ...(quote.affordable
      ? []
      : [blocker(`You need ${usdText(quote.minimumBalanceNanoUsd)} to start${has}.`, 'top-up')]),
    ...budgets
      .filter((budget) => budgetRefuses(budget, hold))
      .map(({ name, limitNanoUsd, spentNanoUsd }) =>
        blocker(
          `The budget "${name}" has ${usdText(remainingOf(limitNanoUsd, spentNanoUsd))} left, but ${usdText(hold)} must be held.`,
          'budgets',
        ),
      ),
    ...(maxNanoUsd !== null && known !== null && known > maxNanoUsd
      ? [blocker(`The cost of ${usdText(known)} exceeds your spending limit of ${usdText(maxNanoUsd)}.`)]
      : []),
  ];
}

function remainingOf(limitNanoUsd: string, spentNanoUsd: string): bigint {
  const left = BigInt(limitNanoUsd) - BigInt(spentNanoUsd);
  return left < 0n ? 0n : left;
}

/** Budgets of API keys do not apply to signed-in users; notify-only budgets reject nothing. */
function budgetRefuses({ keyId, onExceeded, limitNanoUsd, spentNanoUsd }: Budget, hold: bigint): boolean {
  return (
    keyId === null && onExceeded !== 'notify' && hold > 0n && hold > remainingOf(limitNanoUsd, spentNanoUsd)
  );
}

/** The certain cost: the whole term, or the whole TTL. */
function knownCost({ term, totalNanoUsd }: Quote, ttlSeconds: number | null): bigint | null {
  if (term !== null) return BigInt(term.committedNanoUsd);
  return ttlSeconds === null || totalNanoUsd === null ? null : BigInt(totalNanoUsd);
}

const fixesByReason: Readonly<Record<string, BlockerFix>> = {
  INSUFFICIENT_BALANCE: 'top-up',
  BUDGET_EXCEEDED: 'budgets',
  NO_PUBLIC_KEY: 'ssh-key',
  SSH_KEY_NOT_FOUND: 'ssh-key',
  INSUFFICIENT_CAPACITY: 'alternatives',
  NETWORK_TYPE_NOT_SUPPORTED: 'alternatives',
  REGION_DISABLED: 'alternatives',
  PRICE_NOT_AVAILABLE: 'catalog',
  RESERVE_OPTION_NOT_FOUND: 'catalog',
  INSUFFICIENT_SCOPE: 'team',
};

/** The fix for an error reason; null if the error message says everything. */
export function fixForReason(reason: string | null): BlockerFix | null {
  return reason !== null && Object.hasOwn(fixesByReason, reason) ? (fixesByReason[reason] ?? null) : null;
}

/** Whether the service rejected the request. After other failures the rental may exist. */
export function isRejection(error: unknown): boolean {
  return error instanceof ApiError && error.status < 500;
}
