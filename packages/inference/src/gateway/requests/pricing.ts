import type { ModelEntry } from '@millrace/core/inference';
import { tokenCost, type FrozenModelPrice } from '@millrace/core/prices';
import { Fault } from '@millrace/platform/fault';
import { divideWithRemainder } from '@millrace/platform/money';
import type { TokenCounts } from '../../adapters/text/text-adapter.ts';
import { priceOf } from '../../key-feed/index.ts';

/** What a request may cost at most, and how many tokens it is given. Pure. */

export function requirePrice(model: ModelEntry, orgId: string, nowMs: number): FrozenModelPrice {
  const price = priceOf(model, orgId, nowMs);
  if (price === null) throw new Fault('PRICE_NOT_AVAILABLE');
  return price;
}

export interface TokenRequest {
  /** Tokens of all prompts are never more. */
  readonly promptBound: number;
  readonly prompts: number;
  /** What the client asked for, for each choice; null when it did not say. */
  readonly maxTokens: number | null;
  readonly choices: number;
}

export interface TokenBounds {
  readonly prompt: number;
  /** Sent to the engine, for each choice, if the money is there for all of it. */
  readonly maxTokens: number;
  readonly worstNanoUsd: bigint;
  /** The same where a shorter answer would do: the worst case of the shortest. Otherwise all of it. */
  readonly leastNanoUsd: bigint;
}

/** Where neither client nor model says how long an answer may be. */
const defaultMaxTokens = 4_096;
/** Longer than any answer is: beyond this, what many choices of it cost could not be counted exactly. */
const maxCompletionTokens = 2 ** 24;
/** A prompt whose bytes alone fill the context is nearly always shorter in tokens: so much room is left for its answer. */
const minCompletionRoom = 1_024;

/**
 * The bytes of a prompt are a safe bound for its tokens, but no more of them are paid than the context holds. A client
 * that names no length gets the least of what the model gives, what the context leaves and what its money buys.
 */
export function boundTokens(
  model: Pick<ModelEntry, 'contextLength' | 'maxOutputTokens'>,
  price: FrozenModelPrice,
  request: TokenRequest,
): TokenBounds {
  const context = model.contextLength;
  const prompt =
    context === null ? request.promptBound : Math.min(request.promptBound, context * request.prompts);
  const most = Math.min(
    model.maxOutputTokens ?? maxCompletionTokens,
    context ?? maxCompletionTokens,
    maxCompletionTokens,
  );
  if (request.maxTokens !== null && request.maxTokens > most) throw tooLong(most);
  const maxTokens = request.maxTokens ?? defaultLength(most, context, prompt);
  const worstNanoUsd = maxCost(price, prompt, maxTokens * request.choices);
  const leastNanoUsd = request.maxTokens === null ? maxCost(price, prompt, request.choices) : worstNanoUsd;
  return { prompt, maxTokens, worstNanoUsd, leastNanoUsd };
}

function tooLong(most: number): Fault {
  return new Fault('CONTEXT_LENGTH_EXCEEDED', {
    message: `This model answers with at most ${most} tokens.`,
    issues: [{ path: ['max_tokens'], message: `must be at most ${most}`, code: 'too_big' }],
  });
}

function defaultLength(most: number, context: number | null, prompt: number): number {
  const length = Math.min(most, defaultMaxTokens);
  if (context === null) return length;
  return Math.min(length, Math.max(context - prompt, Math.min(minCompletionRoom, context)));
}

/** How long each answer may be for what was set aside, which may be less than was asked for. */
export function affordableTokens(
  price: FrozenModelPrice,
  bounds: TokenBounds,
  choices: number,
  reservedNanoUsd: bigint,
): number {
  if (reservedNanoUsd >= bounds.worstNanoUsd) return bounds.maxTokens;
  let [low, high] = [1, bounds.maxTokens];
  while (low < high) {
    const [middle] = divideWithRemainder(low + high + 1, 2);
    if (maxCost(price, bounds.prompt, middle * choices) <= reservedNanoUsd) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Nothing is known of the cache yet, so the dearer of both prices of a prompt counts. */
function maxCost(price: FrozenModelPrice, prompt: number, completion: number): bigint {
  const fresh = tokenCost(price, { prompt, cached: 0, completion });
  if (price.cachedPromptNanoUsdPerMillion === price.promptNanoUsdPerMillion) return fresh;
  const cached = tokenCost(price, { prompt, cached: prompt, completion });
  return cached > fresh ? cached : fresh;
}

/** An engine that counts more cached tokens than the prompt has is believed up to the prompt. */
export function costOfCounts(price: FrozenModelPrice, counts: TokenCounts): bigint {
  return tokenCost(price, { ...counts, cached: Math.min(counts.cached, counts.prompt) });
}
