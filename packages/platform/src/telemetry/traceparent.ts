import { context, trace } from '@opentelemetry/api';
import type { Context } from '@opentelemetry/api';
import { parseTraceParent } from '@opentelemetry/core';

/** A W3C `traceparent` value: `00-<trace id>-<parent id>-<flags>`. */
export type Traceparent = string;

/** The `traceparent` of the active span for outbox rows and messages; undefined outside any span. */
export function activeTraceparent(from: Context = context.active()): Traceparent | undefined {
  const span = trace.getSpanContext(from);
  if (span === undefined || !trace.isSpanContextValid(span)) return undefined;
  return `00-${span.traceId}-${span.spanId}-${span.traceFlags.toString(16).padStart(2, '0')}`;
}

/** A context whose parent is the traceparent; without a parent if the value is missing or invalid. */
export function contextFromTraceparent(traceparent: string | null | undefined): Context {
  const root = trace.deleteSpan(context.active());
  const parent = traceparent ? parseTraceParent(traceparent) : null;
  if (parent === null || !trace.isSpanContextValid(parent)) return root;
  return trace.setSpanContext(root, { ...parent, isRemote: true });
}

/** Runs `work` as a continuation of the trace of a message or row. */
export function runWithTraceparent<T>(traceparent: string | null | undefined, work: () => T): T {
  return context.with(contextFromTraceparent(traceparent), work);
}
