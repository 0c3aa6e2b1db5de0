import type { Mode } from '@millrace/platform/envelope';
import type { Product, SystemAccount } from '../model/ledger.ts';
import type { BudgetPeriod } from '../model/periods.ts';

/** Accounts as the decision functions see them: locked rows, changed in memory and then written back. */

export type AccountKind =
  | SystemAccount['kind']
  | 'credit'
  | 'promo'
  | 'supplier_payable'
  | 'limit'
  | 'limit_contra';

export type OnExceeded = 'notify' | 'stop_new_work' | 'stop_everything';

export interface BudgetState {
  readonly keyIds: readonly string[] | null;
  readonly name: string;
  readonly period: BudgetPeriod;
  readonly limit: bigint;
  readonly thresholdsPercent: readonly number[];
  readonly onExceeded: OnExceeded;
  periodStartMs: number;
  periodEndMs: number | null;
  notifiedPercent: number;
  changed: boolean;
}

/** Ids are UUIDs, as in the rows: formatting the ids of a batch of hundreds would take most of its time. */
export interface Account {
  readonly id: string;
  readonly kind: AccountKind;
  readonly orgId: string | null;
  readonly mode: Mode;
  readonly priority: number;
  readonly expiresAtMs: number | null;
  readonly frozen: boolean;
  readonly budget: BudgetState | null;
  readonly isNew: boolean;
  balance: bigint;
  held: bigint;
  floor: bigint | null;
  entryCount: bigint;
  /** Credit only: the debt from clawbacks. Free credit repays it first; see `debt.ts`. */
  owed: bigint;
  /** Credit only: clawed-back amounts that were missing and that the operator does not claim. */
  writtenOff: bigint;
  /** Credit only: the wallet may also have promotional accounts or budgets. */
  hasCompanions: boolean;
  touched: boolean;
}

export type SystemAccountRef = SystemAccount | { readonly kind: 'limit_contra' };

/** The number of rows of each operator account, so that concurrent batches rarely lock the same row. */
export const systemShards = 16;

const kindCodes: Readonly<Record<SystemAccount['kind'] | 'limit_contra', string>> = {
  revenue: '01',
  platform_fee: '02',
  payments_clearing: '03',
  grants: '04',
  adjustments: '05',
  shortfall: '06',
  limit_contra: '07',
};
const productCodes: Record<Product, string> = { rental: '01', volume: '02', inference: '03', instance: '04' };
const modeCodes: Readonly<Record<Mode, string>> = { live: '00', test: '01' };

/** The id of one shard row of an operator account. The migration created the rows by the same rule. */
export function systemAccountId(account: SystemAccountRef, mode: Mode, shard: number): string {
  const product = account.kind === 'revenue' ? productCodes[account.product] : '00';
  const shardCode = shard.toString(16).padStart(2, '0');
  return `ffffffff-ffff-7fff-bf00-${kindCodes[account.kind]}${product}${modeCodes[mode]}${shardCode}0000`;
}

/** The shard of a batch, taken from its first organisation so that batches spread over the shards. */
export function shardOfOrganisation(orgUuid: string): number {
  return Number.parseInt(orgUuid.slice(-1), 16) % systemShards;
}
