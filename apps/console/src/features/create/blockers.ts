import { ApiError, type Output } from '@millrace/sdk';
import { usdText } from '@millrace/sdk/text';
import type { Field, Issues } from './draft.ts';
import { countIssue, type RentalSpec } from '../catalog/selection.ts';
import type { Budget } from '../money/budgets.ts';

/** Why Create cannot be pressed: everything that the service would refuse and that is known before asking it. */

export type Quote = Output<'quoteRental'>;

/** Where to go, or what to do here, about it. */
export type BlockerFix = 'top-up' | 'budgets' | 'ssh-key' | 'alternatives' | 'catalog' | 'team';

export interface Blocker {
  readonly why: string;
  readonly step: BlockerFix | null;
}

/** What is known of the price: not yet, refused, or told. */
export type QuoteState =
  | { readonly state: 'waiting' }
  | { readonly state: 'refused'; readonly message: string; readonly reason: string | null }
  | { readonly state: 'told'; readonly quote: Quote };

export interface BlockerContext {
  readonly mayNot: string | false;
  readonly isSuspended: boolean;
  /** The money of the organisation cannot be spent for now. */
  readonly isFrozen: boolean;
  readonly spec: RentalSpec;
  readonly issues: Issues;
  /** Of the person's keys those that will be let in; null: not known yet. */
  readonly keysChosen: number | null;
  readonly priced: QuoteState;
  /** What new work may use now; null: not known, or not for this person to see. */
  readonly availableNanoUsd: string | null;
  readonly budgets: readonly Budget[];
  readonly maxNanoUsd: bigint | null;
  readonly ttlSeconds: number | null;
}

const blocker = (why: string, step: BlockerFix | null = null): Blocker => ({ why, step });

/** What each field is called on the page. */
const fieldNames: Partial<Readonly<Record<Field, string>>> = {
  name: 'Name',
  ttl: 'Time to live',
  maxUsd: 'Cost limit',
  idleAfter: 'Idle',
  tags: 'Tags',
  ports: 'Ports',
  userData: 'User data',
  volumeId: 'Volume',
  volumeLabel: 'Label of the new volume',
  volumeGb: 'Size of the new volume',
};

/** Most decisive first; the button tells the first, the list below it all of them. */
export function findBlockers(standing: BlockerContext): readonly Blocker[] {
  const { mayNot, isSuspended, isFrozen, spec, issues, keysChosen, priced } = standing;
  const count = countIssue(spec);
  return [
    ...(mayNot === false ? [] : [blocker(mayNot, 'team')]),
    ...(isSuspended ? [blocker('Your organisation is suspended. Ask the operator why.')] : []),
    ...(isFrozen
      ? [blocker('The account is frozen, as after a disputed payment. Settle it, or ask the operator.')]
      : []),
    ...(count === null ? [] : [blocker(count)]),
    ...Object.entries(issues).map(([field, text]) =>
      blocker(`${fieldNames[field as Field] ?? field}: ${text}`),
    ),
    ...(keysChosen === 0
      ? [blocker('Choose at least one SSH key: nobody could log in without.', 'ssh-key')]
      : []),
    ...(keysChosen === null ? [blocker('Looking up your SSH keys…')] : []),
    ...(count === null ? quoteBlockers(priced, standing) : []),
  ];
}

function quoteBlockers(priced: QuoteState, standing: BlockerContext): readonly Blocker[] {
  switch (priced.state) {
    case 'waiting':
      return [blocker('Asking for the price…')];
    case 'refused':
      return [blocker(priced.message, fixForReason(priced.reason))];
    case 'told':
      return [...capacityBlockers(priced.quote), ...moneyBlockers(priced.quote, standing)];
  }
}

function capacityBlockers({ available }: Quote): readonly Blocker[] {
  return available ? [] : [blocker('No host can take it at the moment.', 'alternatives')];
}

function moneyBlockers(quote: Quote, standing: BlockerContext): readonly Blocker[] {
  const { availableNanoUsd, budgets, maxNanoUsd } = standing;
  const hold = BigInt(quote.holdNanoUsd);
  const has = availableNanoUsd === null ? '' : ` You have ${usdText(availableNanoUsd)}.`;
  const known = knownCost(quote, standing.ttlSeconds);
  return [
    ...(quote.affordable
      ? []
      : [
          blocker(`${usdText(quote.minimumBalanceNanoUsd)} must be available to begin with.${has}`, 'top-up'),
        ]),
    ...budgets
      .filter((budget) => budgetRefuses(budget, hold))
      .map(({ name, limitNanoUsd, spentNanoUsd }) =>
        blocker(
          `The budget "${name}" leaves ${usdText(remainingOf(limitNanoUsd, spentNanoUsd))}, and ${usdText(hold)} would be set aside.`,
          'budgets',
        ),
      ),
    ...(maxNanoUsd !== null && known !== null && known > maxNanoUsd
      ? [blocker(`It would cost ${usdText(known)}, which is more than your limit of ${usdText(maxNanoUsd)}.`)]
      : []),
  ];
}

function remainingOf(limitNanoUsd: string, spentNanoUsd: string): bigint {
  const left = BigInt(limitNanoUsd) - BigInt(spentNanoUsd);
  return left < 0n ? 0n : left;
}

/** Budgets of single keys say nothing of people who are signed in; those that only tell refuse nobody. */
function budgetRefuses({ keyId, onExceeded, limitNanoUsd, spentNanoUsd }: Budget, hold: bigint): boolean {
  return (
    keyId === null && onExceeded !== 'notify' && hold > 0n && hold > remainingOf(limitNanoUsd, spentNanoUsd)
  );
}

/** What is certain to be paid: the whole of a term, or of a time to live. */
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

/** What to do about a refusal; null where its own words say all there is. */
export function fixForReason(reason: string | null): BlockerFix | null {
  return reason !== null && Object.hasOwn(fixesByReason, reason) ? (fixesByReason[reason] ?? null) : null;
}

/** Whether the service said no. A failure, or silence, may have come after it was carried out. */
export function isRejection(error: unknown): boolean {
  return error instanceof ApiError && error.status < 500;
}
