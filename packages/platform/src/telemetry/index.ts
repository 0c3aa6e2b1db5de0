export { activeTraceparent, contextFromTraceparent, runWithTraceparent } from './traceparent.ts';
export type { Traceparent } from './traceparent.ts';
export { startTelemetry } from './telemetry.ts';
export type { Telemetry, TelemetryOptions } from './telemetry.ts';
export { counter, gauge, histogram, inSpan } from './instruments.ts';
export type { CounterMetric, RecordableMetric, SpanOptions } from './instruments.ts';
