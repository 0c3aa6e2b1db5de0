import { machineReadyState, marketplaceFilterFields, type MarketplaceFilterField } from '@millrace/contract';
import type { Value } from './column.ts';
import { gpusAvailable, type MachineRecord } from './machine-record.ts';

/** What machines can be filtered and sorted by, and how it is read from a record. Pure. */

type Operator = 'eq' | 'gte' | 'lte';

interface Field {
  /** The column that holds it: several names may mean the same one. */
  readonly column: string;
  /** What a plain value asks. */
  readonly plain: Operator;
  /** Where a value is meant that has the wanted one in it: how both are spelled for that. By identity unless said. */
  readonly spelled?: (value: Value) => string;
}

/** Short names that people type, for what the record calls otherwise or does not have. */
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

/** Every column there is, with how a machine's values for it are read. */
export const columnReaders: ReadonlyMap<string, (record: MachineRecord) => readonly Value[]> = new Map(
  fieldNames.map((name) => {
    const { column } = fieldOf(name);
    const path = column.split('.');
    return [column, derived[column] ?? ((record: MachineRecord) => valuesAt(record, path))];
  }),
);

/** What stands at the end of a path, in all elements of the lists on its way; each value once. */
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

/** `H100` is meant by nobody to be all of a model's name: the words have to be in it, one after the other. */
function normaliseWords(text: Value): string {
  return ` ${String(text)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, ' ')
    .trim()} `;
}
