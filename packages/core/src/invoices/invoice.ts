import type { InvoiceId, OrgId } from '@millrace/platform/ids';
import { addUsd, zeroUsd, type NanoUsd } from '@millrace/platform/money';
import { pricedQuantity, type CostKind, type CostSum, type CostUnit } from './costs.ts';

/** Builds the lines of an invoice from costs. Pure. */

export interface InvoiceLine {
  readonly description: string;
  readonly cause: { readonly kind: string; readonly id: string } | null;
  readonly quantity: string;
  readonly unit: string;
  readonly amount: NanoUsd;
}

export interface InvoiceSummary {
  readonly id: InvoiceId;
  readonly orgId: OrgId;
  readonly number: bigint;
  readonly periodStart: Date;
  readonly periodEnd: Date;
  readonly total: NanoUsd;
  readonly finalizedAt: Date;
}

export interface Invoice extends InvoiceSummary {
  readonly issuer: string;
  readonly billedTo: string;
  readonly lines: readonly InvoiceLine[];
}

const NUMBER_DIGITS = 8;

export function numberText(number: bigint): string {
  return `INV-${number.toString().padStart(NUMBER_DIGITS, '0')}`;
}

/** Beyond this number of lines the smallest costs are summed; the cost export has all of them. */
export const LINES_MAX = 1_000;
/** Causes with longer ids are left out; Millrace creates none. */
const CAUSE_ID_MAX = 100;

const unitNames: Readonly<Record<CostUnit, string>> = {
  gpu: 'GPU-hours',
  gb: 'GB-hours',
  token: 'tokens',
  character: 'characters',
  request: 'requests',
  none: 'items',
};

const resourceNames: Readonly<Record<string, readonly [one: string, many: string]>> = {
  rental: ['Rental', 'rentals'],
  instance: ['Instance', 'instances'],
  volume: ['Volume', 'volumes'],
  model: ['Model', 'models'],
};

type CostGroup = Pick<CostSum, 'kind' | 'resource' | 'unit' | 'quantity' | 'cost'>;

/** One line per resource, unit and kind of cost. The lines sum to the costs. */
export function invoiceLinesOf(costs: readonly CostGroup[], most = LINES_MAX): readonly InvoiceLine[] {
  const counted = costs.map((sum): CostGroup => (sum.kind === 'use' ? sum : { ...sum, unit: 'none' }));
  const merged = mergeCosts(counted, ({ resource }) => `${resource.kind} ${resource.id}`);
  const sums = [...merged.values()].map(([sum]) => sum);
  if (sums.length <= most) return sums.map(toLine);
  const bySize = sums.toSorted((left, right) => compare(absoluteCost(right.cost), absoluteCost(left.cost)));
  const shown = new Set(bySize.slice(0, most));
  const rest = mergeCosts(bySize.slice(most), ({ resource }) => resource.kind);
  return [
    ...sums.filter((sum) => shown.has(sum)).map(toLine),
    ...[...rest.values()].map(([sum, count]) => toRemainderLine(sum, count)),
  ];
}

export function totalOf(lines: readonly Pick<InvoiceLine, 'amount'>[]): NanoUsd {
  return addUsd(zeroUsd, ...lines.map(({ amount }) => amount));
}

const absoluteCost = (cost: bigint): bigint => (cost < 0n ? -cost : cost);
const compare = (left: bigint, right: bigint): number => (left < right ? -1 : left > right ? 1 : 0);

/** Sums costs of the same name, kind and unit, in the order of first appearance, and counts them. */
function mergeCosts(
  costs: readonly CostGroup[],
  nameOf: (sum: CostGroup) => string,
): ReadonlyMap<string, readonly [sum: CostGroup, count: number]> {
  const merged = new Map<string, readonly [CostGroup, number]>();
  for (const next of costs) {
    const name = `${next.kind} ${next.unit} ${nameOf(next)}`;
    const [sum, count] = merged.get(name) ?? [null, 0];
    merged.set(name, [
      sum === null
        ? next
        : { ...sum, quantity: sum.quantity + next.quantity, cost: addUsd(sum.cost, next.cost) },
      count + 1,
    ]);
  }
  return merged;
}

function costLabel(kind: CostKind, unit: CostUnit): string {
  if (kind === 'refund') return 'refund';
  if (kind === 'fee') return 'remaining term';
  if (unit === 'gpu') return 'GPU time';
  return unit === 'gb' ? 'storage' : unitNames[unit];
}

function toLine(sum: CostGroup): InvoiceLine {
  const { kind, id } = sum.resource;
  const cause = id.length > CAUSE_ID_MAX ? null : sum.resource;
  return lineOf(sum, `${resourceNames[kind]?.[0] ?? kind} ${id}`, cause);
}

function toRemainderLine(sum: CostGroup, count: number): InvoiceLine {
  const { kind } = sum.resource;
  return lineOf(sum, `${count} further ${resourceNames[kind]?.[1] ?? kind}`, null);
}

/** Only usage has a quantity; other lines have quantity 1. */
function lineOf(
  { kind, unit, quantity, cost }: CostGroup,
  name: string,
  cause: InvoiceLine['cause'],
): InvoiceLine {
  return {
    description: `${name}: ${costLabel(kind, unit)}`,
    cause,
    quantity: kind === 'use' ? pricedQuantity(unit, quantity) : '1',
    unit: unitNames[kind === 'use' ? unit : 'none'],
    amount: cost,
  };
}
