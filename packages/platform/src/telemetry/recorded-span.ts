import { SpanStatusCode, context, trace } from '@opentelemetry/api';
import type { Attributes, Context, Span } from '@opentelemetry/api';
import { activeTraceparent, contextFromTraceparent, type Traceparent } from './traceparent.ts';
import { spanKinds, tracingScope, type SpanKindName } from './span-kinds.ts';

export interface RecordedSpanOptions {
  readonly kind?: SpanKindName;
  readonly attributes?: Attributes;
}

/**
 * A span that its owner passes on and ends. For hot paths: code that has none does nothing for tracing, and no asynchronous
 * context is needed.
 */
export interface RecordedSpan {
  readonly traceparent: Traceparent;
  child(name: string, options?: RecordedSpanOptions): RecordedSpan;
  set(attributes: Attributes): void;
  /** An instant within the span. */
  event(name: string): void;
  /** Only the first call counts. `errorType` marks a failure, by a name from a small set. */
  end(errorType?: string | null): void;
}

class OpenSpan implements RecordedSpan {
  readonly #span: Span;
  readonly #within: Context;
  #isOver = false;

  constructor(span: Span, parent: Context) {
    this.#span = span;
    this.#within = trace.setSpan(parent, span);
  }

  get traceparent(): Traceparent {
    return activeTraceparent(this.#within) ?? '';
  }

  child(name: string, options: RecordedSpanOptions = {}): RecordedSpan {
    return new OpenSpan(startSpan(name, options, this.#within), this.#within);
  }

  set(attributes: Attributes): void {
    this.#span.setAttributes(attributes);
  }

  event(name: string): void {
    this.#span.addEvent(name);
  }

  end(errorType: string | null = null): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (errorType !== null) {
      this.#span.setStatus({ code: SpanStatusCode.ERROR });
      this.#span.setAttribute('error.type', errorType);
    }
    this.#span.end();
  }
}

function startSpan(
  name: string,
  { kind = 'internal', attributes = {} }: RecordedSpanOptions,
  parent: Context,
  links: { readonly context: NonNullable<ReturnType<typeof trace.getSpanContext>> }[] = [],
): Span {
  return trace.getTracer(tracingScope).startSpan(name, { kind: spanKinds[kind], attributes, links }, parent);
}

/** Starts a trace that links the caller's, and returns its first span. Null if this trace is not sampled. */
export function startTrace(
  name: string,
  options: RecordedSpanOptions & { readonly linked?: string | undefined },
): RecordedSpan | null {
  const root = trace.deleteSpan(context.active());
  const claimed =
    options.linked === undefined ? undefined : trace.getSpanContext(contextFromTraceparent(options.linked));
  const span = startSpan(name, options, root, claimed === undefined ? [] : [{ context: claimed }]);
  return span.isRecording() ? new OpenSpan(span, root) : null;
}

/** Continues the trace of a message. Null if its sender did not sample the trace. */
export function continueTrace(
  traceparent: string | null,
  name: string,
  options: RecordedSpanOptions,
): RecordedSpan | null {
  if (traceparent === null) return null;
  const parent = contextFromTraceparent(traceparent);
  if (trace.getSpanContext(parent) === undefined) return null;
  const span = startSpan(name, options, parent);
  return span.isRecording() ? new OpenSpan(span, parent) : null;
}
