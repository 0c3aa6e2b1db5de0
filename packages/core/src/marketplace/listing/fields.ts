import { machineReadyState, marketplaceFilterFields, type MarketplaceFilterField } from '@millrace/contract';
import type { Value } from './column.ts';
import { gpusAvailable, type MachineRecord } from './machine-record.ts';

/** Defines the filter and sort fields and how they are read from a record. Pure. */

type Operator = 'eq' | 'gte' | 'lte';

interface Field {
  /** Several field names may share a column. */
  readonly column: string;
  /** The operator of a value without one. */
  readonly plain: Operator;
  /** Set for fields that match by substring: the normalisation of both values. */
  readonly spelled?: (value: Value) => string;
}

/** Short names for record fields, and derived fields. */
const shortNames: Partial<Record<MarketplaceFilterField, Field>> = {
  gpu_model: { column: 'hardware.gpus.model', plain: 'eq', spelled: normaliseWords },
  region: { column: 'location.region', plain: 'eq' },
  max_price: { column: 'pricing.price.amount', plain: 'lte' },
  min_gpus_available: { column: 'gpus_available', plain: 'gte' },
};

export function fieldOf(name: MarketplaceFilterField): Field {
  return shortNames[name] ?? { column: name, plain: 'eq' };
}

export function isFilterField(name: string): name is MarketplaceFilterField {
  return Object.hasOwn(marketplaceFilterFields, name);
}

const fieldNames = Object.keys(marketplaceFilterFields).filter(isFilterField);

const derived: Readonly<Record<string, (record: MachineRecord) => readonly Value[]>> = {
  gpus_available: (record) => [gpusAvailable(record)],
  available: (record) => [record.status === machineReadyState && !record.reserved],
};

/** All columns, with the function that reads their values from a record. */
export const columnReaders: ReadonlyMap<string, (record: MachineRecord) => readonly Value[]> = new Map(
  fieldNames.map((name) => {
    const { column } = fieldOf(name);
    const path = column.split('.');
    return [column, derived[column] ?? ((record: MachineRecord) => valuesAt(record, path))];
  }),
);

/** Values at the end of a path, through all list elements, without duplicates. */
function valuesAt(record: MachineRecord, path: readonly string[]): readonly Value[] {
  const found: Value[] = [];
  collect(record, path, 0, found);
  return found;
}

function collect(at: unknown, path: readonly string[], depth: number, found: Value[]): void {
  if (Array.isArray(at)) {
    for (const item of at) collect(item, path, depth, found);
    return;
  }
  const name = path[depth];
  if (name === undefined) {
    const isValue = typeof at === 'string' || typeof at === 'number' || typeof at === 'boolean';
    if (isValue && !found.includes(at)) found.push(at);
    return;
  }
  if (typeof at === 'object' && at !== null) collect(at[name as keyof typeof at], path, depth + 1, found);
}

/** `H100` is only part of a model name, so its words must occur in the name in sequence. */
function normaliseWords(text: Value): string {
  return ` ${String(text)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, ' ')
    .trim()} `;
}
