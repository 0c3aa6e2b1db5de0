import type { LabelValues, MetricDefinition, MetricProcess } from './definition.ts';
import { deliveryMetrics } from './delivery-metrics.ts';
import { fleetMetrics } from './fleet-metrics.ts';
import { inferenceMetrics } from './inference-metrics.ts';
import { moneyMetrics } from './money-metrics.ts';
import { processMetrics } from './process-metrics.ts';

export { metricProcesses } from './definition.ts';
export type { LabelValues, MetricDefinition, MetricProcess } from './definition.ts';

/** Sections of docs/metrics.md. */
export const metricSections = {
  'Every process': processMetrics,
  Inference: inferenceMetrics,
  Money: moneyMetrics,
  'Machines, rentals and volumes': fleetMetrics,
  'Identity and delivery': deliveryMetrics,
} as const;

/** All metrics of the product. An instrument takes its help, buckets and label names from here. */
const catalogue = {
  ...processMetrics,
  ...inferenceMetrics,
  ...moneyMetrics,
  ...fleetMetrics,
  ...deliveryMetrics,
} as const;

export const metricCatalogue: Readonly<Record<string, MetricDefinition>> = catalogue;

type Catalogue = typeof catalogue;

/** Names of the metrics of one type. */
export type MetricName<Type extends MetricDefinition['type']> = {
  [Name in keyof Catalogue]: Catalogue[Name]['type'] extends Type ? Name : never;
}[keyof Catalogue];

type AllowedValue<Values> = Values extends readonly (infer Value)[]
  ? Value | (Value extends 'true' | 'false' ? boolean : never)
  : string | number;

/** The labels of a metric, with the values that the catalogue lists. */
export type LabelsOf<Name extends keyof Catalogue> = {
  readonly [Label in keyof Catalogue[Name]['labels']]: AllowedValue<Catalogue[Name]['labels'][Label]>;
};

export function definitionOf(name: keyof Catalogue): MetricDefinition {
  return catalogue[name];
}

/** All label sets of a metric whose values are listed; null if a value is only known at run time. */
export function listedLabelSets(definition: MetricDefinition): readonly Record<string, string>[] | null {
  let sets: Record<string, string>[] = [{}];
  for (const [label, values] of Object.entries(definition.labels)) {
    if (!isListed(values)) return null;
    sets = sets.flatMap((set) => values.map((value) => ({ ...set, [label]: value })));
  }
  return sets;
}

export function isListed(values: LabelValues): values is readonly string[] {
  return Array.isArray(values);
}

/** Counters that a process exposes from its start with the value 0, so that alerts notice their first increase. */
export function countersFromStart(process: MetricProcess): readonly MetricName<'counter'>[] {
  return (Object.keys(catalogue) as (keyof Catalogue)[]).filter((name): name is MetricName<'counter'> => {
    const definition = definitionOf(name);
    const isServed = definition.processes.includes(process);
    return definition.type === 'counter' && isServed && listedLabelSets(definition) !== null;
  });
}
