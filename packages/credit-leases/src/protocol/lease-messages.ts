import type { Mode } from '@millrace/platform/envelope';
import { parseId, type BudgetId, type IdKind, type IdOf, type OrgId } from '@millrace/platform/ids';
import { z } from 'zod';
import type { LeaseServer } from './lease-scripts.ts';

/** What gateways, and other cells on their behalf, say to the keeper of the ledger. Amounts travel as decimal text. */

const amountText = (pattern: RegExp) => z.string().regex(pattern).transform(BigInt);
const wholeAmount = amountText(/^(0|[1-9][0-9]{0,18})$/);
const signedAmount = amountText(/^(0|-?[1-9][0-9]{0,18})$/);
const id = <K extends IdKind>(kind: K) =>
  z.string().transform((text, context): IdOf<K> => {
    const parsed = parseId(kind, text);
    if (parsed !== null) return parsed;
    context.addIssue({ code: 'custom', message: `not an id of kind ${kind}` });
    return z.NEVER;
  });
const mode = z.enum(['live', 'test']);
const gatewayId = z.string().regex(/^[A-Za-z0-9._-]{1,100}$/);

export interface LeaseRequest {
  readonly orgId: OrgId;
  readonly mode: Mode;
  /** The cell whose pot it is for. */
  readonly cell: number;
  readonly gatewayId: string;
  /** The pot as the gateway saw it last; null when it knows of no lease. */
  readonly seen: { readonly epoch: bigint; readonly granted: bigint; readonly remaining: bigint } | null;
  /** What is needed beyond what was left. */
  readonly shortage: bigint;
  /** What all requests that wait at the gateway need together: lent if the money allows. */
  readonly wanted: bigint;
  readonly budgets: readonly {
    readonly id: BudgetId;
    readonly granted: bigint;
    readonly shortage: bigint;
    /** What would be of use beyond what was left: lent if the budget allows. */
    readonly wanted: bigint;
  }[];
}

/** More than one key can have: an organisation's own are bounded, and each key may bring one along. */
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
  /** What a whole period allows. */
  readonly limit: bigint;
  /** Until the budget starts again; null for one without a period. */
  readonly resetsInMs: number | null;
}

export type LeaseReply =
  | {
      readonly outcome: 'leased';
      readonly server: LeaseServer;
      readonly leaseId: IdOf<'lse'>;
      readonly epoch: bigint;
      readonly granted: bigint;
      /** Below this the gateway asks for more. */
      readonly lowWater: bigint;
      /** Counted from when the request was sent, by the gateway's own clock. */
      readonly admitForMs: number;
      /** The money is there, these budgets are not. */
      readonly exceeded: readonly BudgetId[];
      /** What the ledger still has of these. Older workers leave it out. */
      readonly left?: readonly BudgetRemainder[] | undefined;
      /** Nor are these, but enough of them is on its way back from leases that are closing. */
      readonly returning: readonly BudgetId[];
      /** Epochs up to this are over: the gateway reports their end once its last request of them is. */
      readonly endThrough: bigint;
    }
  | {
      readonly outcome: 'refused';
      /** `dead`: this gateway was given up; it must ask under another id. */
      readonly reason: 'no money' | 'budget exceeded' | 'frozen' | 'busy' | 'dead';
      /** What the ledger still has. Older workers leave it out. */
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

/** The database's time, sent with each answer: a gateway has no other source for it. Older workers leave it out. */
export const leaseTimeSchema = z.object({ databaseMs: z.number().optional() });

export interface RecallRequest {
  readonly orgId: OrgId;
  readonly mode: Mode;
  /** `all`: a budget was set since it was lent, so what is under way must not be spent beyond it either. */
  readonly amount: bigint | 'all';
}

export const recallRequestSchema = z.object({
  orgId: id('org'),
  mode,
  amount: z.union([z.literal('all'), wholeAmount]),
});
export const recallReplySchema = z.object({ freed: wholeAmount });

/** The end-of-epoch marker: in the usage stream, behind the last usage of these epochs by this gateway. */
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

/** JSON knows no bigint. */
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

/** Among the usage of the organisation, so that it stands in the same stream behind it. */
export function epochEndSubject(prefix: string, end: EpochEnd): string {
  return `${subjectPrefix(prefix)}usage.${end.cell}.${end.orgId}.end`;
}

/** The same end is published once, however often and by whomever it is announced. */
export function epochEndMessageId(end: EpochEnd): string {
  return `pot-end:${end.gatewayId}:${end.orgId}:${end.mode}:${end.throughEpoch}`;
}
