import { context, propagation, trace } from '@opentelemetry/api';
import type { Context } from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';

/** A W3C `traceparent` value: `00-<trace id>-<parent id>-<flags>`. */
export type Traceparent = string;

const traceparentPattern = /^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;
const propagator = new W3CTraceContextPropagator();

/** The `traceparent` of the active span, or undefined outside any. What outbox rows and messages carry. */
export function activeTraceparent(from: Context = context.active()): Traceparent | undefined {
  if (trace.getSpanContext(from) === undefined) return undefined;
  const carrier: Record<string, string> = {};
  propagator.inject(from, carrier, {
    set: (target, key, value) => {
      target[key] = value;
    },
  });
  return carrier['traceparent'];
}

/** A context whose parent is the given traceparent; rubbish, or none, yields a context with no parent. */
export function contextFromTraceparent(traceparent: string | null | undefined): Context {
  const root = propagation.deleteBaggage(trace.deleteSpan(context.active()));
  if (traceparent === null || traceparent === undefined || !traceparentPattern.test(traceparent)) return root;
  return propagator.extract(
    root,
    { traceparent },
    { get: (carrier, key) => (key === 'traceparent' ? carrier.traceparent : undefined), keys: Object.keys },
  );
}

/** Runs `work` as a continuation of the trace that the message or row carried. */
export function runWithTraceparent<T>(traceparent: string | null | undefined, work: () => T): T {
  return context.with(contextFromTraceparent(traceparent), work);
}
