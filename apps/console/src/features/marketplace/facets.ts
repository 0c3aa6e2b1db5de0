import { freeGpus, gpuName, perHour, type Machine } from './machine.ts';

/** The values that machines have, to choose filters from. */

export interface FacetValue {
  readonly value: string;
  readonly machineCount: number;
}

export interface Facets {
  readonly gpus: readonly FacetValue[];
  readonly regions: readonly FacetValue[];
  readonly suppliers: readonly FacetValue[];
  /** Numbers of GPUs that at least one machine has available. */
  readonly gpuCounts: readonly number[];
  /** Lowest and highest price of a GPU-hour in nano-USD; null without machines. */
  readonly prices: { readonly lowest: bigint; readonly highest: bigint } | null;
  /** Whether the computing power of any machine was measured. */
  readonly hasPerformance: boolean;
}

const gpuCounts = [1, 2, 4, 8, 16];

export function facetsOf(machines: readonly Machine[]): Facets {
  const prices = machines.map((machine) => perHour(machine, 1)).toSorted(compare);
  const [lowest, highest] = [prices[0], prices.at(-1)];
  const mostFree = Math.max(0, ...machines.map(freeGpus));
  return {
    gpus: countBy(machines, gpuName),
    regions: countBy(machines, ({ location }) => location.region),
    suppliers: countBy(machines, ({ supplier_id: supplier }) => supplier),
    gpuCounts: gpuCounts.filter((count) => count <= mostFree),
    prices: lowest === undefined || highest === undefined ? null : { lowest, highest },
    hasPerformance: machines.some((machine) => teraflops(machine) > 0),
  };
}

/** Most frequent first. */
function countBy(machines: readonly Machine[], valueOf: (machine: Machine) => string): readonly FacetValue[] {
  const counts = new Map<string, number>();
  for (const machine of machines) counts.set(valueOf(machine), (counts.get(valueOf(machine)) ?? 0) + 1);
  return [...counts]
    .map(([value, machineCount]) => ({ value, machineCount }))
    .toSorted((one, other) => other.machineCount - one.machineCount || compare(one.value, other.value));
}

/** Also lists values of the URL that no machine has, because they filter the list. */
export function withChosen(values: readonly FacetValue[], chosen: readonly string[]): readonly FacetValue[] {
  const known = new Set(values.map(({ value }) => value));
  return [
    ...values,
    ...chosen.filter((value) => !known.has(value)).map((value) => ({ value, machineCount: 0 })),
  ];
}

/** Measured computing power of one GPU; 0 if it was not measured. */
export function teraflops({ hardware }: Pick<Machine, 'hardware'>): number {
  return hardware.gpus[0]?.compute_power ?? 0;
}

export function compare<Value extends string | bigint>(one: Value, other: Value): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
