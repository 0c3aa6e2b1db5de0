import type { Millrace } from '../sdk.ts';
import type { CliClock } from '../frame/context.ts';
import { safeLines } from '../frame/text.ts';
import type { AnswerUsage, Timing } from './footer.ts';

/** One answer of a model, word by word. */

export interface AnswerPart {
  readonly text: string;
  /** What a reasoning model thinks before it answers: shown to a person, never part of the answer. */
  readonly thought: string;
}

export interface AnswerEnd {
  readonly text: string;
  readonly usage: AnswerUsage | null;
  readonly timing: Timing;
  readonly requestId: string | null;
  readonly finishReason: string | null;
  /** The person ended it. */
  readonly stopped: boolean;
}

/** What is read of an event of either stream. */
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
  readonly usage?: AnswerUsage | null | undefined;
}

/**
 * Reads a stream to its end. A stream that breaks is an error, for what came is not all; one that the person ended, by
 * `signal`, is an answer with less in it.
 */
export async function readAnswer(
  chunks: AsyncIterable<Chunk>,
  reading: {
    readonly clock: Pick<CliClock, 'monotonicMs'>;
    readonly signal: AbortSignal;
    readonly show: (part: AnswerPart) => void;
  },
): Promise<AnswerEnd> {
  const { clock, signal, show } = reading;
  const startedMs = clock.monotonicMs();
  let text = '';
  let firstMs: number | null = null;
  let last: Chunk | null = null;
  let usage: AnswerUsage | null = null;
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

/** An answer on a terminal must not steer it. Tabs stay: code is made of them. */
export function safeAnswer(text: string): string {
  return text.split('\t').map(safeLines).join('\t');
}

/** What there is of a request in the books, which know it about a second after its end. */
export type RequestUsage = Awaited<ReturnType<Millrace['usage']['getRequest']>>;

const bookedTries = 8;
const bookedEveryMs = 400;

/** Null when the books do not have it in time, or this key may not read them. */
export async function bookedUsage(
  client: Millrace,
  requestId: string | null,
  waiting: { readonly clock: Pick<CliClock, 'sleep'>; readonly signal?: AbortSignal },
): Promise<RequestUsage | null> {
  if (requestId === null) return null;
  for (let tried = 0; tried < bookedTries; tried += 1) {
    try {
      return await client.usage.getRequest(
        { requestId },
        waiting.signal === undefined ? {} : { signal: waiting.signal },
      );
    } catch (error) {
      const isYetToCome = error instanceof Error && 'status' in error && error.status === 404;
      if (!isYetToCome) return null;
      await waiting.clock.sleep(bookedEveryMs, waiting.signal);
    }
  }
  return null;
}

/** The counts of the books in the words of an answer. */
export const usageOfBooks = (booked: RequestUsage | null): AnswerUsage | null =>
  booked === null
    ? null
    : {
        prompt_tokens: booked.tokens_prompt,
        completion_tokens: booked.tokens_completion,
        prompt_tokens_details: { cached_tokens: booked.tokens_cached },
        cost_nano_usd: booked.cost_nano_usd,
      };
