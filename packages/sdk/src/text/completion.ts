import { perSecond } from './units.ts';

/** Reads the completion of a model and its usage: tokens, cost, latency. */

export interface CompletionUsage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly prompt_tokens_details?: { readonly cached_tokens: number } | undefined;
  readonly cost_nano_usd?: number | undefined;
}

export interface Timing {
  /** The time to the first token; null if there was none. */
  readonly firstMs: number | null;
  readonly totalMs: number;
}

export interface CompletionDelta {
  readonly text: string;
  /** The reasoning of a model, shown to users but not part of the completion. */
  readonly thought: string;
}

export interface CompletionResult {
  readonly text: string;
  readonly usage: CompletionUsage | null;
  readonly timing: Timing;
  readonly requestId: string | null;
  readonly finishReason: string | null;
  /** The user stopped it. */
  readonly stopped: boolean;
}

/** The fields of a stream event that are used. */
interface Chunk {
  readonly id: string;
  readonly choices: readonly {
    readonly text?: string | undefined;
    readonly delta?: {
      readonly content?: string | undefined;
      readonly reasoning_content?: string | undefined;
    };
    readonly finish_reason: string | null;
  }[];
  readonly usage?: CompletionUsage | null | undefined;
}

/** Reads a stream to its end. Throws if it breaks; returns the partial completion if `signal` aborts it. */
export async function readCompletion(
  chunks: AsyncIterable<Chunk>,
  reading: {
    readonly clock: { monotonicMs(): number };
    readonly signal: AbortSignal;
    readonly show: (part: CompletionDelta) => void;
    /** The start time; default: now. */
    readonly startedMs?: number;
  },
): Promise<CompletionResult> {
  const { clock, signal, show } = reading;
  const startedMs = reading.startedMs ?? clock.monotonicMs();
  let text = '';
  let firstMs: number | null = null;
  let last: Chunk | null = null;
  let usage: CompletionUsage | null = null;
  let finishReason: string | null = null;
  const sinceMs = (): number => Math.round(clock.monotonicMs() - startedMs);
  try {
    for await (const chunk of chunks) {
      last = chunk;
      usage = chunk.usage ?? usage;
      const choice = chunk.choices[0];
      finishReason = choice?.finish_reason ?? finishReason;
      const part = {
        text: choice?.text ?? choice?.delta?.content ?? '',
        thought: choice?.delta?.reasoning_content ?? '',
      };
      if (part.text === '' && part.thought === '') continue;
      firstMs ??= sinceMs();
      text += part.text;
      show(part);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  const timing = { firstMs, totalMs: sinceMs() };
  return { text, usage, timing, requestId: last?.id ?? null, finishReason, stopped: signal.aborted };
}

/** Tokens per second after the first token: `33.3`. Null for a single token. */
export function tokensPerSecond(usage: CompletionUsage | null, { firstMs, totalMs }: Timing): string | null {
  const out = usage?.completion_tokens ?? 0;
  return firstMs === null || out < 2 || totalMs <= firstMs ? null : perSecond(out - 1, totalMs - firstMs);
}

/** The recorded usage of a request, available about a second after its end. */
export interface LedgerUsage {
  readonly tokens_prompt: number;
  readonly tokens_completion: number;
  readonly tokens_cached: number;
  readonly cost_nano_usd: number;
}

const ledgerPolls = 8;
const ledgerPollMs = 400;

/** Null if the usage is not recorded in time, or the caller must not read it. */
export async function waitForLedgerUsage<Recorded extends LedgerUsage>(
  client: {
    readonly usage: {
      getRequest(
        input: { readonly requestId: string },
        options: { readonly signal?: AbortSignal },
      ): PromiseLike<Recorded>;
    };
  },
  requestId: string | null,
  waiting: {
    readonly clock: { sleep(ms: number, signal?: AbortSignal): Promise<unknown> };
    readonly signal?: AbortSignal;
  },
): Promise<Recorded | null> {
  if (requestId === null) return null;
  for (let tried = 0; tried < ledgerPolls; tried += 1) {
    try {
      return await client.usage.getRequest(
        { requestId },
        waiting.signal === undefined ? {} : { signal: waiting.signal },
      );
    } catch (error) {
      const isYetToCome = error instanceof Error && 'status' in error && error.status === 404;
      if (!isYetToCome) return null;
      await waiting.clock.sleep(ledgerPollMs, waiting.signal);
    }
  }
  return null;
}

/** Converts recorded usage to the usage of a completion. */
export const toCompletionUsage = (recorded: LedgerUsage | null): CompletionUsage | null =>
  recorded === null
    ? null
    : {
        prompt_tokens: recorded.tokens_prompt,
        completion_tokens: recorded.tokens_completion,
        prompt_tokens_details: { cached_tokens: recorded.tokens_cached },
        cost_nano_usd: recorded.cost_nano_usd,
      };
