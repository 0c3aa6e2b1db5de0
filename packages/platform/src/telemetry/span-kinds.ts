import { SpanKind } from '@opentelemetry/api';

/** One scope for all modules, because `service.name` identifies the process. */
export const tracingScope = 'millrace';

export const spanKinds = {
  internal: SpanKind.INTERNAL,
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
} as const;

export type SpanKindName = keyof typeof spanKinds;
