import type { Mode } from '@millrace/platform/envelope';
import type { BudgetId, HoldId, KeyId, LedgerAccountId, OrgId, TransferId } from '@millrace/platform/ids';
import type { NanoUsd } from '@millrace/platform/money';

/** The words of the ledger. Every change of money is one command; a batch of them is decided in order. */

/** What was sold; revenue is kept apart by it. */
export type Product = 'rental' | 'volume' | 'inference' | 'instance';

/** The operator's own accounts. Each is sixteen rows; which one a batch uses is the ledger's business. */
export type SystemAccount =
  | { readonly kind: 'revenue'; readonly product: Product }
  | { readonly kind: 'platform_fee' | 'payments_clearing' | 'grants' | 'adjustments' | 'shortfall' };

/** The other side of an organisation's money: where charged money goes, and where money given back comes from. */
export type Destination = SystemAccount | { readonly kind: 'supplier_payable'; readonly orgId: OrgId };

export interface Share {
  readonly account: Destination;
  readonly amount: NanoUsd;
}

/** Why money moves: the rental, volume, request batch, payment or act behind it. A kind holds no colon. */
export interface MoneyCause {
  readonly kind: string;
  readonly id: string;
}

/** What was used for the money, in whole units, for usage reports and invoices. */
export type UsageQuantities = Readonly<Record<string, number | string>>;

interface CommandBase {
  readonly orgId: OrgId;
  readonly mode: Mode;
  readonly cause: MoneyCause;
  /** Names this act among all of its cause: the same cause and step happen once, however often they are asked for. */
  readonly step: string;
}

export type CreditKind = 'top_up' | 'grant' | 'adjustment' | 'credit';
export type DebitKind = 'charge' | 'adjustment' | 'payout' | 'clawback';
export type TransferKind = CreditKind | DebitKind | 'refund' | 'reversal' | 'expiry' | 'budget';

/** Money comes to the organisation. */
export interface CreditCommand extends CommandBase {
  readonly do: 'credit';
  readonly kind: CreditKind;
  /** The sources sum to it. */
  readonly amount: NanoUsd;
  /** The part of the amount that the operator bore when it was charged: it goes back to the shortfall account. */
  readonly absorbed?: NanoUsd;
  /** Where it comes from. A supplier whose share was paid out already owes it from then on. */
  readonly from: readonly Share[];
  /** Promotional: spent before paid credit, by priority and then by expiry, and gone at `expiresAt`. */
  readonly promo?: { readonly priority: number; readonly expiresAt: Date | null };
  readonly keyId?: KeyId;
  /** What is given back of it; not negative, for the kind says already which way it goes. */
  readonly usage?: UsageQuantities;
  readonly description: string;
}

/**
 * What happens when the money is not there. `refuse`: nothing is posted. `shortfall`: the rest is posted from the
 * operator's shortfall account, so that who delivered is paid and the balance keeps its floor.
 */
export type OnShortfall = 'refuse' | 'shortfall';

/** Money leaves the organisation's balance at once, without a hold. */
export interface DebitCommand extends CommandBase {
  readonly do: 'debit';
  readonly kind: DebitKind;
  /** The shares sum to it. */
  readonly amount: NanoUsd;
  readonly to: readonly Share[];
  readonly whenShort: OnShortfall;
  readonly keyId?: KeyId;
  readonly usage?: UsageQuantities;
  readonly description: string;
}

/** Promotional credit pays for nothing of this: a supplier can ask for what it earned, and a gift must not become cash. */
type PaidOnly = 'paid';

/** Running work is carried on by `stop_new_work` budgets and frozen accounts; new work is not. */
export type WorkState = 'new' | 'running';

/** Checks and sets aside, in one step. Refused whole when less than `atLeast` (all of it, unless said) can be had. */
export interface HoldCommand extends CommandBase {
  readonly do: 'hold';
  readonly amount: NanoUsd;
  readonly atLeast?: NanoUsd;
  readonly demand: WorkState;
  readonly keyId?: KeyId;
  /** Holds nothing of the balance, only of these budgets: a part of a key's limit lent to a pot. */
  readonly onlyBudgets?: readonly BudgetId[];
  /**
   * What is set aside of. `earnings`: what the organisation earned as a supplier, not what it can spend, for a payout that
   * is asked for. `paid`: no promotional credit, for what a supplier is paid for. Unless said, all that can be spent.
   */
  readonly of?: 'earnings' | PaidOnly;
}

/** Brings what a hold sets aside to an absolute amount, so that doing it twice is doing it once. 0 keeps it open. */
export interface ResizeCommand extends CommandBase {
  readonly do: 'resize';
  readonly holdId: HoldId;
  readonly target: NanoUsd;
  /** When growing: the least that must be held afterwards; `target` unless said. */
  readonly atLeast?: NanoUsd;
  readonly demand: WorkState;
  /** As it was said when the hold was made. */
  readonly of?: PaidOnly;
}

/**
 * Charges `amount` from a hold: its own money first, then what is available, then the operator's shortfall account.
 * `afterwards` says what becomes of the hold: kept as it is, brought to an amount (as far as the money reaches), or closed.
 */
export interface PostCommand extends CommandBase {
  readonly do: 'post';
  readonly holdId: HoldId;
  readonly amount: NanoUsd;
  readonly to: readonly Share[];
  readonly afterwards: 'keep' | 'close' | { readonly target: NanoUsd };
  /** The operator pays what the hold lacks, and the balance is left alone: nobody agreed to more than was held. */
  readonly beyondHold?: 'operator';
  /** The most of it that the hold pays, also where it has more: the rest goes as what the hold lacks. */
  readonly mostFromHold?: NanoUsd;
  /** As it was said when the hold was made. */
  readonly of?: PaidOnly;
  readonly keyId?: KeyId;
  readonly usage?: UsageQuantities;
  /** By when all of it had been used. What was used before a month's end is entered in that month while it is open. */
  readonly usedBy?: Date;
  readonly description: string;
}

/** Gives back whatever the hold still sets aside; nothing can be posted from it afterwards. */
export interface CloseCommand extends CommandBase {
  readonly do: 'close';
  readonly holdId: HoldId;
  /** As it was said when the hold was made. */
  readonly of?: 'earnings';
}

/** Pays a supplier all that a hold of its earnings sets aside, and closes the hold. */
export interface PayOutCommand extends CommandBase {
  readonly do: 'pay_out';
  readonly holdId: HoldId;
  readonly description: string;
}

/** Gives back a part of a charge, from where it went to where it came from, in proportion. */
export interface RefundCommand extends CommandBase {
  readonly do: 'refund';
  readonly transferId: TransferId;
  readonly amount: NanoUsd;
  readonly description: string;
}

/** Undoes a transfer by its exact opposite. */
export interface ReverseCommand extends CommandBase {
  readonly do: 'reverse';
  readonly transferId: TransferId;
  readonly description: string;
}

/** Takes what is left, unheld, of a promotional account after its expiry. */
export interface ExpireCommand extends CommandBase {
  readonly do: 'expire';
  readonly accountId: LedgerAccountId;
}

/** Raises or lowers what a budget leaves to be spent in its present period. */
export interface LimitCommand extends CommandBase {
  readonly do: 'limit';
  readonly budgetId: BudgetId;
  /** `rest` takes all that nobody has spent or set aside, as it stands once a period that is over has ended. */
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
  /** The same cause and step were used for something else. A mistake of the caller's, never a race. */
  | 'STEP_REUSED';

export interface LedgerSuccess {
  readonly ok: true;
  /** It had happened before; nothing was done now, and the amounts are those of the first time. */
  readonly replayed: boolean;
  /** Null when no money moved: a hold, or a charge of nothing. */
  readonly transferId: TransferId | null;
  readonly holdId: HoldId | null;
  /** What the organisation's own money changed by. */
  readonly amount: NanoUsd;
  /** What the hold sets aside afterwards; 0 without one. */
  readonly held: NanoUsd;
  /** What the operator bore because hold and balance did not reach. */
  readonly shortfall: NanoUsd;
  readonly balanceAfter: NanoUsd;
}

export interface LedgerRefused {
  readonly ok: false;
  readonly reason: RejectionReason;
  /** What could have been had; null where money was not the obstacle. */
  readonly available: NanoUsd | null;
  readonly budgetId: BudgetId | null;
}

export type LedgerResult = LedgerSuccess | LedgerRefused;

/** An organisation's money as a person sees it. */
export interface Balance {
  /** Credit and unexpired promotional credit, holds included. */
  readonly balance: NanoUsd;
  readonly held: NanoUsd;
  /** What new work can still use, an allowed overdraft included. */
  readonly available: NanoUsd;
  /** How far below zero the operator lets the balance go; 0 or more. */
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
