/** The processes that serve metrics. */
export const metricProcesses = ['api', 'worker', 'gateway'] as const;
export type MetricProcess = (typeof metricProcesses)[number];

/** All values of a label, or their source and the number up to which an installation is expected to have them. */
export type LabelValues = readonly string[] | { readonly of: string; readonly max: number };

export interface MetricDefinition {
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** One sentence, which `/metrics` serves. */
  readonly help: string;
  readonly unit: string;
  readonly processes: readonly MetricProcess[];
  readonly labels: Readonly<Record<string, LabelValues>>;
  /** Upper bounds of a histogram, in its unit. */
  readonly buckets?: readonly number[];
}

export type MetricDefinitions = Readonly<Record<string, MetricDefinition>>;

export const withDatabase = ['api', 'worker'] as const satisfies readonly MetricProcess[];
export const workerOnly = ['worker'] as const satisfies readonly MetricProcess[];
export const gatewayOnly = ['gateway'] as const satisfies readonly MetricProcess[];
export const apiOnly = ['api'] as const satisfies readonly MetricProcess[];
export const none = {} as const;
