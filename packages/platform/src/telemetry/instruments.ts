import { SpanStatusCode, context, metrics, trace } from '@opentelemetry/api';
import type { Attributes, Context, Meter, MeterProvider, Span, SpanKind } from '@opentelemetry/api';

/** One scope for all modules, because `service.name` identifies the process. */
const scope = 'millrace';

export interface SpanOptions {
  readonly kind?: SpanKind;
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
  const { parent = context.active(), ...spanOptions } = options;
  const span = trace.getTracer(scope).startSpan(name, spanOptions, parent);
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

/** Creates an instrument on first use, because one created before telemetry starts would never report. */
function lazily<Instrument>(make: (meter: Meter) => Instrument): () => Instrument {
  let madeBy: MeterProvider | undefined;
  let made: Instrument | undefined;
  return () => {
    const provider = metrics.getMeterProvider();
    if (made === undefined || madeBy !== provider) {
      made = make(provider.getMeter(scope));
      madeBy = provider;
    }
    return made;
  };
}

export interface CounterMetric {
  add(value: number, attributes?: Attributes): void;
}

/** A monotonic counter. Attributes must have few values: never ids of resources or users. */
export function counter(name: string, description: string): CounterMetric {
  const instrument = lazily((meter) => meter.createCounter(name, { description }));
  return { add: (value, attributes) => instrument().add(value, attributes) };
}

export interface RecordableMetric {
  record(value: number, attributes?: Attributes): void;
}

export function gauge(name: string, description: string): RecordableMetric {
  const instrument = lazily((meter) => meter.createGauge(name, { description }));
  return { record: (value, attributes) => instrument().record(value, attributes) };
}

/** Durations in seconds unless another unit is given; buckets use the same unit. */
export function histogram(
  name: string,
  description: string,
  options: { readonly unit?: string; readonly buckets: readonly number[] },
): RecordableMetric {
  const instrument = lazily((meter) =>
    meter.createHistogram(name, {
      description,
      unit: options.unit ?? 's',
      advice: { explicitBucketBoundaries: [...options.buckets] },
    }),
  );
  return { record: (value, attributes) => instrument().record(value, attributes) };
}
