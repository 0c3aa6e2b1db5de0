import type { ListingQuery } from './filters.ts';
import type { MachineRecord } from './machine-record.ts';

/** A simple implementation of the listing as the oracle for the fast one. */

type Value = string | number | boolean;
type Sort = NonNullable<ListingQuery['sort']>[number];

export function naiveList(machines: readonly MachineRecord[], query: ListingQuery): MachineRecord[] {
  const { region, 'location.region': place } = query.filters;
  const named = [region, place].flatMap((filter) =>
    typeof filter === 'object' ? [filter.eq, ...(filter.in ?? [])] : [filter],
  );
  return machines
    .filter(({ location }) => location.region !== 'mock-region' || named.includes('mock-region'))
    .filter((machine) => Object.entries(query.filters).every(([name, value]) => passes(machine, name, value)))
    .toSorted((a, b) => {
      for (const sort of query.sort ?? []) {
        const order = compare(sortValue(a, sort), sortValue(b, sort), sort.dir);
        if (order !== 0) return order;
      }
      return a.id < b.id ? -1 : 1;
    });
}

export function valuesOf(machine: MachineRecord, name: string): Value[] {
  const available = machine.status === 'node_ready' ? machine.gpus_total - machine.gpus_reserved : 0;
  switch (name) {
    case 'gpu_model':
      return machine.hardware.gpus.map(({ model }) => model);
    case 'region':
      return [machine.location.region];
    case 'max_price':
      return [machine.pricing.price.amount];
    case 'min_gpus_available':
      return [available];
    case 'available':
      return [machine.status === 'node_ready' && !machine.reserved];
    default:
      return name
        .split('.')
        .reduce<unknown[]>(
          (at, step) => at.flatMap((each) => (each as Record<string, unknown>)[step] ?? []),
          [machine],
        ) as Value[];
  }
}

function passes(machine: MachineRecord, name: string, filter: unknown): boolean {
  if (name === 'nonsense' || filter === undefined) return true;
  const values = valuesOf(machine, name);
  const plain = name === 'max_price' ? 'lte' : name === 'min_gpus_available' ? 'gte' : 'eq';
  const conditions = typeof filter === 'object' && filter !== null ? filter : { [plain]: filter };
  const same = (a: Value, b: Value): boolean =>
    name === 'gpu_model'
      ? words(b).length > 0 &&
        words(a).some((_, at) => words(b).every((word, next) => words(a)[at + next] === word))
      : a === b;
  return Object.entries(conditions as Record<string, Value & Value[]>).every(([operator, wanted]) => {
    switch (operator) {
      case 'eq':
        return values.some((value) => same(value, wanted));
      case 'neq':
        return !values.some((value) => same(value, wanted));
      case 'gt':
        return values.some((value) => value > wanted);
      case 'gte':
        return values.some((value) => value >= wanted);
      case 'lt':
        return values.some((value) => value < wanted);
      case 'lte':
        return values.some((value) => value <= wanted);
      case 'in':
        return values.some((value) => wanted.some((each) => same(value, each)));
      case 'notin':
        return !values.some((value) => wanted.some((each) => same(value, each)));
      default:
        throw new Error(operator);
    }
  });
}

function words(text: Value): string[] {
  return (
    String(text)
      .toLowerCase()
      .match(/[a-z0-9]+/g) ?? []
  );
}

function sortValue(machine: MachineRecord, { field, dir }: Sort): Value | undefined {
  return valuesOf(machine, field).toSorted((a, b) => compare(a, b, dir))[0];
}

function compare(a: Value | undefined, b: Value | undefined, dir: 'asc' | 'desc'): number {
  if (a === b) return 0;
  if (a === undefined) return 1;
  if (b === undefined) return -1;
  return a < b === (dir === 'asc') ? -1 : 1;
}
