import { SpanStatusCode, context, metrics, trace } from '@opentelemetry/api';
import type { Attributes, Context, Meter, MeterProvider, Span } from '@opentelemetry/api';
import { definitionOf, type LabelsOf, type MetricName } from './catalogue/index.ts';
import { spanKinds, tracingScope, type SpanKindName } from './span-kinds.ts';

export interface SpanOptions {
  readonly kind?: SpanKindName;
  readonly attributes?: Attributes;
  /** The parent context, for example from `contextFromTraceparent`; the active one by default. */
  readonly parent?: Context;
}

/** Runs `work` in a span that records failures and always ends. Names are static; details belong in attributes. */
export async function inSpan<T>(
  name: string,
  options: SpanOptions,
  work: (span: Span) => Promise<T>,
): Promise<T> {
  const { parent = context.active(), kind = 'internal', attributes = {} } = options;
  const span = trace.getTracer(tracingScope).startSpan(name, { kind: spanKinds[kind], attributes }, parent);
  try {
    return await context.with(trace.setSpan(parent, span), () => work(span));
  } catch (error) {
    span.setStatus({ code: SpanStatusCode.ERROR });
    if (error instanceof Error) span.setAttribute('error.type', error.name);
    throw error;
  } finally {
    span.end();
  }
}

/** Runs `work` in a span only inside a sampled trace, so that frequent background work starts no traces of its own. */
export function inChildSpan<T>(
  name: string,
  options: SpanOptions,
  work: (span: Span | null) => Promise<T>,
): Promise<T> {
  return trace.getActiveSpan()?.isRecording() === true ? inSpan(name, options, work) : work(null);
}

/** Creates an instrument on first use, because one created before telemetry starts would never report. */
function lazily<Instrument>(make: (meter: Meter) => Instrument): () => Instrument {
  let madeBy: MeterProvider | undefined;
  let made: Instrument | undefined;
  return () => {
    const provider = metrics.getMeterProvider();
    if (made === undefined || madeBy !== provider) {
      made = make(provider.getMeter(tracingScope));
      madeBy = provider;
    }
    return made;
  };
}

/** The labels of `add` and `record`: required if the metric has any. */
type LabelArguments<Labels> = keyof Labels extends never ? [] : [labels: Labels];

export interface CounterMetric<Labels> {
  add(value: number, ...labels: LabelArguments<Labels>): void;
}

/** A monotonic counter of the catalogue. Labels must have few values: never ids of resources or users. */
export function counter<Name extends MetricName<'counter'>>(name: Name): CounterMetric<LabelsOf<Name>> {
  const { help: description } = definitionOf(name);
  const instrument = lazily((meter) => meter.createCounter(name, { description }));
  return { add: (value, labels?: Attributes) => instrument().add(value, labels) };
}

export interface RecordableMetric<Labels> {
  record(value: number, ...labels: LabelArguments<Labels>): void;
}

export function gauge<Name extends MetricName<'gauge'>>(name: Name): RecordableMetric<LabelsOf<Name>> {
  const { help: description } = definitionOf(name);
  const instrument = lazily((meter) => meter.createGauge(name, { description }));
  return { record: (value, labels?: Attributes) => instrument().record(value, labels) };
}

export function histogram<Name extends MetricName<'histogram'>>(
  name: Name,
): RecordableMetric<LabelsOf<Name>> {
  const { help: description, buckets = [] } = definitionOf(name);
  const instrument = lazily((meter) =>
    meter.createHistogram(name, { description, advice: { explicitBucketBoundaries: [...buckets] } }),
  );
  return { record: (value, labels?: Attributes) => instrument().record(value, labels) };
}
