import type { Mode } from '@millrace/platform/envelope';
import { parseId, type BudgetId, type IdKind, type IdOf, type OrgId } from '@millrace/platform/ids';
import { z } from 'zod';
import type { LeaseServer } from './lease-scripts.ts';

/** NATS messages between gateways, other cells and the lender. Amounts are decimal text. */

const amountText = (pattern: RegExp) => z.string().regex(pattern).transform(BigInt);
const wholeAmount = amountText(/^(0|[1-9][0-9]{0,18})$/);
const signedAmount = amountText(/^(0|-?[1-9][0-9]{0,18})$/);
const id = <K extends IdKind>(kind: K) =>
  z.string().transform((text, context): IdOf<K> => {
    const parsed = parseId(kind, text);
    if (parsed !== null) return parsed;
    context.addIssue({ code: 'custom', message: `expected an id of kind ${kind}` });
    return z.NEVER;
  });
const mode = z.enum(['live', 'test']);
const gatewayId = z.string().regex(/^[A-Za-z0-9._-]{1,100}$/);

export interface LeaseRequest {
  readonly orgId: OrgId;
  readonly mode: Mode;
  /** The cell whose Valkey holds the lease. */
  readonly cell: number;
  readonly gatewayId: string;
  /** The lease as the gateway last observed it; null if it knows no lease. */
  readonly seen: { readonly epoch: bigint; readonly granted: bigint; readonly remaining: bigint } | null;
  /** The amount that the request needs beyond the remaining credit. */
  readonly shortage: bigint;
  /** The amount that all requests waiting at the gateway need together; granted if the balance allows. */
  readonly wanted: bigint;
  readonly budgets: readonly {
    readonly id: BudgetId;
    readonly granted: bigint;
    readonly shortage: bigint;
    /** The useful amount beyond the remaining credit; granted if the budget allows. */
    readonly wanted: bigint;
  }[];
}

/** More than one key can have: the budgets of an organisation are limited, and each key may bring one along. */
const maxBudgets = 64;

export const leaseRequestSchema = z.object({
  orgId: id('org'),
  mode,
  cell: z.int().min(0).max(1023),
  gatewayId,
  seen: z.object({ epoch: wholeAmount, granted: wholeAmount, remaining: signedAmount }).nullable(),
  shortage: wholeAmount,
  wanted: wholeAmount,
  budgets: z
    .array(z.object({ id: id('bdg'), granted: wholeAmount, shortage: wholeAmount, wanted: wholeAmount }))
    .max(maxBudgets),
});

export interface BudgetRemainder {
  readonly id: BudgetId;
  readonly amount: bigint;
  /** The limit of one whole period. */
  readonly limit: bigint;
  /** Time until the budget resets; null for a budget without a period. */
  readonly resetsInMs: number | null;
}

export type LeaseReply =
  | {
      readonly outcome: 'leased';
      readonly server: LeaseServer;
      readonly leaseId: IdOf<'lse'>;
      readonly epoch: bigint;
      readonly granted: bigint;
      /** Below this amount the gateway requests more. */
      readonly lowWater: bigint;
      /** Counted from when the request was sent, by the gateway's clock. */
      readonly admitForMs: number;
      /** Budgets that are used up although the balance is sufficient. */
      readonly exceeded: readonly BudgetId[];
      /** The rest of these budgets in the ledger. Older workers omit it. */
      readonly left?: readonly BudgetRemainder[] | undefined;
      /** Used-up budgets to which closing leases will return enough. */
      readonly returning: readonly BudgetId[];
      /** These epochs have ended: the gateway reports their end after its last request of them. */
      readonly endThrough: bigint;
    }
  | {
      readonly outcome: 'refused';
      /** `dead`: this holder was declared dead; the gateway must request under a new holder id. */
      readonly reason: 'no money' | 'budget exceeded' | 'frozen' | 'busy' | 'dead';
      /** The balance that the ledger can still grant. Older workers omit it. */
      readonly available?: bigint | undefined;
      readonly endThrough: bigint;
    };

const remainderSchema = z.object({
  id: id('bdg'),
  amount: wholeAmount,
  limit: wholeAmount,
  resetsInMs: z.number().nullable(),
});

export const leaseReplySchema = z.discriminatedUnion('outcome', [
  z.object({
    outcome: z.literal('leased'),
    server: z.object({
      namespace: z.string().regex(/^[0-9a-f]{12}$/),
      generation: wholeAmount,
      incarnation: z.string(),
    }),
    leaseId: id('lse'),
    epoch: wholeAmount,
    granted: wholeAmount,
    lowWater: wholeAmount,
    admitForMs: z.number(),
    exceeded: z.array(id('bdg')),
    left: z.array(remainderSchema).max(maxBudgets).optional(),
    returning: z.array(id('bdg')),
    endThrough: wholeAmount,
  }),
  z.object({
    outcome: z.literal('refused'),
    reason: z.enum(['no money', 'budget exceeded', 'frozen', 'busy', 'dead']),
    available: wholeAmount.optional(),
    endThrough: wholeAmount,
  }),
]);

/** The database's time, sent with each reply because gateways have no other source for it. Older workers omit it. */
export const leaseTimeSchema = z.object({ databaseMs: z.number().optional() });

export interface RecallRequest {
  readonly orgId: OrgId;
  readonly mode: Mode;
  /** `all`: a budget was set after the grant, so the lease is also closed if it exceeds that budget. */
  readonly amount: bigint | 'all';
}

export const recallRequestSchema = z.object({
  orgId: id('org'),
  mode,
  amount: z.union([z.literal('all'), wholeAmount]),
});
export const recallReplySchema = z.object({ freed: wholeAmount });

/** Says that no more usage of these epochs by this gateway follows in the usage stream. */
export interface EpochEnd {
  readonly orgId: OrgId;
  readonly mode: Mode;
  readonly cell: number;
  readonly gatewayId: string;
  readonly throughEpoch: bigint;
}

export const epochEndSchema = z.object({
  orgId: id('org'),
  mode,
  cell: z.int().min(0).max(1023),
  gatewayId,
  throughEpoch: wholeAmount,
});

/** JSON has no bigint. */
export function toJsonMessage(value: object): unknown {
  return JSON.parse(
    JSON.stringify(value, (_, one: unknown) => (typeof one === 'bigint' ? String(one) : one)),
  );
}

const subjectPrefix = (prefix: string): string => (prefix === '' ? '' : `${prefix}.`);

export function leaseSubjects(prefix: string, cell: number) {
  const base = `${subjectPrefix(prefix)}pots.${cell}`;
  return { lease: `${base}.lease`, recall: `${base}.recall` };
}

/** Uses the organisation's usage subject, so that the end marker follows its usage in the same stream. */
export function epochEndSubject(prefix: string, { cell, orgId }: Pick<EpochEnd, 'cell' | 'orgId'>): string {
  return `${subjectPrefix(prefix)}usage.${cell}.${orgId}.end`;
}

/** The end markers of all organisations in a cell. */
export function epochEndSubjects(prefix: string, cell: number): string {
  return `${subjectPrefix(prefix)}usage.${cell}.*.end`;
}

/** The same end marker gets the same id, so that the stream stores it once. */
export function epochEndMessageId(end: EpochEnd): string {
  return `pot-end:${end.gatewayId}:${end.orgId}:${end.mode}:${end.throughEpoch}`;
}
