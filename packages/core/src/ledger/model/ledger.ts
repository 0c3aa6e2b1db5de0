import type { Mode } from '@millrace/platform/envelope';
import type { BudgetId, HoldId, KeyId, LedgerAccountId, OrgId, TransferId } from '@millrace/platform/ids';
import type { NanoUsd } from '@millrace/platform/money';

/** Commands, results and records of the ledger. Every change of money is one command; a batch decides them in order. */

/** Revenue is accounted per product. */
export type Product = 'rental' | 'volume' | 'inference' | 'instance';

/** The operator's accounts. Each has sixteen rows; the ledger chooses the row of a batch. */
export type SystemAccount =
  | { readonly kind: 'revenue'; readonly product: Product }
  | { readonly kind: 'platform_fee' | 'payments_clearing' | 'grants' | 'adjustments' | 'shortfall' };

/** The other side of an organisation's money: where charges go, and where credits come from. */
export type Destination = SystemAccount | { readonly kind: 'supplier_payable'; readonly orgId: OrgId };

export interface Share {
  readonly account: Destination;
  readonly amount: NanoUsd;
}

/** The rental, volume, request batch, payment or operator request behind a transfer. A kind contains no colon. */
export interface MoneyCause {
  readonly kind: string;
  readonly id: string;
}

/** The used quantities in whole units, for usage reports and invoices. */
export type UsageQuantities = Readonly<Record<string, number | string>>;

interface CommandBase {
  readonly orgId: OrgId;
  readonly mode: Mode;
  readonly cause: MoneyCause;
  /** Unique within the cause: a cause and step are applied once, however often they are repeated. */
  readonly step: string;
}

export type CreditKind = 'top_up' | 'grant' | 'adjustment' | 'credit';
export type DebitKind = 'charge' | 'adjustment' | 'payout' | 'clawback';
export type TransferKind = CreditKind | DebitKind | 'refund' | 'reversal' | 'expiry' | 'budget';

/** Adds money to the organisation. */
export interface CreditCommand extends CommandBase {
  readonly do: 'credit';
  readonly kind: CreditKind;
  /** Must equal the sum of the sources. */
  readonly amount: NanoUsd;
  /** The part of the amount that the operator absorbed in the charge; it returns to the shortfall account. */
  readonly absorbed?: NanoUsd;
  /** The sources. A supplier that was already paid out owes its share. */
  readonly from: readonly Share[];
  /** Promotional: spent before paid credit, by priority and then by expiry; void from `expiresAt` on. */
  readonly promo?: { readonly priority: number; readonly expiresAt: Date | null };
  readonly keyId?: KeyId;
  /** The quantities that are given back, as positive numbers. */
  readonly usage?: UsageQuantities;
  readonly description: string;
}

/**
 * The behaviour if the balance is insufficient. `refuse`: no transfer. `shortfall`: the operator's shortfall account
 * pays the rest, so that the recipient is paid in full and the balance keeps its floor.
 */
export type OnShortfall = 'refuse' | 'shortfall';

/** Takes money from the organisation's balance at once, without a hold. */
export interface DebitCommand extends CommandBase {
  readonly do: 'debit';
  readonly kind: DebitKind;
  /** Must equal the sum of the shares. */
  readonly amount: NanoUsd;
  readonly to: readonly Share[];
  readonly whenShort: OnShortfall;
  readonly keyId?: KeyId;
  readonly usage?: UsageQuantities;
  readonly description: string;
}

/** Excludes promotional credit: suppliers can withdraw what they earn, and a gift must not become cash. */
type PaidOnly = 'paid';

/** `stop_new_work` budgets and frozen accounts refuse new work but not running work. */
export type WorkState = 'new' | 'running';

/** Checks and holds in one step. Refused if less than `atLeast` (default: all) is available. */
export interface HoldCommand extends CommandBase {
  readonly do: 'hold';
  readonly amount: NanoUsd;
  readonly atLeast?: NanoUsd;
  readonly demand: WorkState;
  readonly keyId?: KeyId;
  /** Holds only these budgets and no balance: the part of a key limit that is granted to a credit lease. */
  readonly onlyBudgets?: readonly BudgetId[];
  /**
   * The money to hold. `earnings`: what the organisation earned as a supplier, for a payout. `paid`: credit without
   * promotional credit, for charges that pay a supplier. By default all spendable money.
   */
  readonly of?: 'earnings' | PaidOnly;
}

/** Sets a hold to an absolute amount, so that it is idempotent. 0 keeps the hold open. */
export interface ResizeCommand extends CommandBase {
  readonly do: 'resize';
  readonly holdId: HoldId;
  readonly target: NanoUsd;
  /** When growing: the minimum to hold afterwards; by default `target`. */
  readonly atLeast?: NanoUsd;
  readonly demand: WorkState;
  /** Same value as in the hold command. */
  readonly of?: PaidOnly;
}

/**
 * Charges `amount`: from the hold, then from the available balance, then from the shortfall account. `afterwards` keeps
 * the hold, sets it to a target (as far as the balance reaches) or closes it.
 */
export interface PostCommand extends CommandBase {
  readonly do: 'post';
  readonly holdId: HoldId;
  readonly amount: NanoUsd;
  readonly to: readonly Share[];
  readonly afterwards: 'keep' | 'close' | { readonly target: NanoUsd };
  /** The operator instead of the balance pays the amount beyond the hold: the tenant agreed only to the held amount. */
  readonly beyondHold?: 'operator';
  /** The most that the hold pays, even if it has more; the rest is charged as beyond the hold. */
  readonly mostFromHold?: NanoUsd;
  /** Same value as in the hold command. */
  readonly of?: PaidOnly;
  readonly keyId?: KeyId;
  readonly usage?: UsageQuantities;
  /** The end of the usage. Usage before the end of a month is recorded in that month while it is open. */
  readonly usedBy?: Date;
  readonly description: string;
}

/** Releases the rest of a hold. Later postings from it are refused. */
export interface CloseCommand extends CommandBase {
  readonly do: 'close';
  readonly holdId: HoldId;
  /** Same value as in the hold command. */
  readonly of?: 'earnings';
}

/** Pays out all of a hold of earnings and closes it. */
export interface PayOutCommand extends CommandBase {
  readonly do: 'pay_out';
  readonly holdId: HoldId;
  readonly description: string;
}

/** Returns part of a charge to its payers, and takes it from the recipients in proportion. */
export interface RefundCommand extends CommandBase {
  readonly do: 'refund';
  readonly transferId: TransferId;
  readonly amount: NanoUsd;
  readonly description: string;
}

export interface ReverseCommand extends CommandBase {
  readonly do: 'reverse';
  readonly transferId: TransferId;
  readonly description: string;
}

/** Takes the unheld credit of an expired promotional account. */
export interface ExpireCommand extends CommandBase {
  readonly do: 'expire';
  readonly accountId: LedgerAccountId;
}

/** Raises or lowers the remaining amount of a budget in its current period. */
export interface LimitCommand extends CommandBase {
  readonly do: 'limit';
  readonly budgetId: BudgetId;
  /** `rest` takes everything that is neither spent nor held, after an ended period has been restarted. */
  readonly by: NanoUsd | 'rest';
}

export type LedgerCommand =
  | CreditCommand
  | DebitCommand
  | HoldCommand
  | ResizeCommand
  | PostCommand
  | CloseCommand
  | PayOutCommand
  | RefundCommand
  | ReverseCommand
  | ExpireCommand
  | LimitCommand;

export type RejectionReason =
  | 'INSUFFICIENT_BALANCE'
  | 'BUDGET_EXCEEDED'
  | 'ACCOUNT_FROZEN'
  | 'HOLD_NOT_FOUND'
  | 'HOLD_CLOSED'
  | 'TRANSFER_NOT_FOUND'
  | 'TRANSFER_NOT_REVERSIBLE'
  | 'BUDGET_NOT_FOUND'
  /** The same cause and step were used for another command. Always a bug of the caller, never a race. */
  | 'STEP_REUSED';

export interface LedgerSuccess {
  readonly ok: true;
  /** The command was applied before. Nothing changed now; the amounts are those of the first time. */
  readonly replayed: boolean;
  /** Null if no money moved, as for a hold or a zero charge. */
  readonly transferId: TransferId | null;
  readonly holdId: HoldId | null;
  /** The change of the organisation's money. */
  readonly amount: NanoUsd;
  /** The held amount afterwards; 0 without a hold. */
  readonly held: NanoUsd;
  /** The amount that the operator absorbed. */
  readonly shortfall: NanoUsd;
  readonly balanceAfter: NanoUsd;
}

export interface LedgerRefused {
  readonly ok: false;
  readonly reason: RejectionReason;
  /** The available amount; null if the refusal is not about money. */
  readonly available: NanoUsd | null;
  readonly budgetId: BudgetId | null;
}

export type LedgerResult = LedgerSuccess | LedgerRefused;

export interface Balance {
  /** Credit and unexpired promotional credit, including held money. */
  readonly balance: NanoUsd;
  readonly held: NanoUsd;
  /** The amount that new work can use, including an allowed overdraft. */
  readonly available: NanoUsd;
  /** How far the balance may go below zero; 0 or more. */
  readonly overdraft: NanoUsd;
  readonly frozen: boolean;
}

export interface TransferRecord {
  readonly id: TransferId;
  readonly orgId: OrgId;
  readonly mode: Mode;
  readonly kind: TransferKind;
  readonly cause: MoneyCause;
  readonly amount: NanoUsd;
  readonly balanceAfter: NanoUsd;
  readonly holdId: HoldId | null;
  readonly reverses: TransferId | null;
  readonly keyId: KeyId | null;
  readonly description: string;
  readonly usage: UsageQuantities | null;
  readonly occurredAt: Date;
}

export interface HoldRecord {
  readonly id: HoldId;
  readonly orgId: OrgId;
  readonly mode: Mode;
  readonly cause: MoneyCause;
  readonly keyId: KeyId | null;
  readonly held: NanoUsd;
  readonly posted: NanoUsd;
  readonly closed: boolean;
}
