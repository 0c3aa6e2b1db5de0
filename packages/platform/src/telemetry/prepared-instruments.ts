import { ValueType } from '@opentelemetry/api';
import { AggregationTemporality, DataPointType } from '@opentelemetry/sdk-metrics';
import type { MetricProducer } from '@opentelemetry/sdk-metrics';
import { definitionOf, type LabelsOf, type MetricName } from './catalogue/index.ts';

/** Records one label set of a histogram. Allocates no object. */
export interface Recorder {
  record(value: number): void;
}

/** A histogram for the path of every inference request: its label sets are looked up once and kept by the caller. */
export interface PreparedHistogram<Labels> {
  with(labels: Labels): Recorder;
}

type LabelSet = Readonly<Record<string, string>>;

class HistogramPoint implements Recorder {
  readonly attributes: LabelSet;
  readonly #boundaries: readonly number[];
  readonly #counts: number[];
  #count = 0;
  #sum = 0;

  constructor(attributes: LabelSet, boundaries: readonly number[]) {
    this.attributes = attributes;
    this.#boundaries = boundaries;
    this.#counts = Array.from({ length: boundaries.length + 1 }, () => 0);
  }

  record(value: number): void {
    const boundaries = this.#boundaries;
    let bucket = 0;
    while (bucket < boundaries.length && value > (boundaries[bucket] ?? 0)) bucket += 1;
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.#count += 1;
    this.#sum += value;
  }

  read() {
    const buckets = { boundaries: [...this.#boundaries], counts: [...this.#counts] };
    const value = { buckets, count: this.#count, sum: this.#sum };
    return { startTime: never, endTime: never, attributes: this.attributes, value };
  }
}

/** The Prometheus format has no times. */
const never: [number, number] = [0, 0];
const points = new Map<MetricName<'histogram'>, Map<string, HistogramPoint>>();

/** A record through the SDK takes about 1 µs of processor time, a prepared one about 20 ns. */
export function preparedHistogram<Name extends MetricName<'histogram'>>(
  name: Name,
): PreparedHistogram<LabelsOf<Name>> {
  const { buckets = [] } = definitionOf(name);
  const ofName = points.get(name) ?? new Map<string, HistogramPoint>();
  points.set(name, ofName);
  return {
    with(labels) {
      const attributes = Object.fromEntries(
        Object.entries(labels).map(([label, value]) => [label, String(value)]),
      );
      const key = JSON.stringify(attributes);
      const known = ofName.get(key);
      if (known !== undefined) return known;
      const point = new HistogramPoint(attributes, buckets);
      ofName.set(key, point);
      return point;
    },
  };
}

/** Gives the prepared histograms to the exporter. */
export const preparedMetrics: MetricProducer = {
  collect: async () => {
    const metrics = [...points].flatMap(([name, ofName]) => {
      if (ofName.size === 0) return [];
      const { help: description } = definitionOf(name);
      return [
        {
          descriptor: { name, description, unit: '', valueType: ValueType.DOUBLE },
          aggregationTemporality: AggregationTemporality.CUMULATIVE,
          dataPointType: DataPointType.HISTOGRAM as const,
          dataPoints: [...ofName.values()].map((point) => point.read()),
        },
      ];
    });
    const resource = { attributes: {}, merge: () => resource, getRawAttributes: () => [] };
    return {
      resourceMetrics: { resource, scopeMetrics: [{ scope: { name: 'millrace' }, metrics }] },
      errors: [],
    };
  },
};
