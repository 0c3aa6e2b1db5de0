import type { ModelEntry } from '@millrace/core/inference';
import { tokenCost, type FrozenModelPrice } from '@millrace/core/prices';
import { Fault } from '@millrace/platform/fault';
import { divideWithRemainder } from '@millrace/platform/money';
import type { TokenCounts } from '../../adapters/text/text-adapter.ts';
import { priceOf } from '../../key-feed/index.ts';

/** Computes the maximum cost and the token limits of a request. Pure. */

export function requirePrice(model: ModelEntry, orgId: string, nowMs: number): FrozenModelPrice {
  const price = priceOf(model, orgId, nowMs);
  if (price === null) throw new Fault('PRICE_NOT_AVAILABLE');
  return price;
}

export interface TokenRequest {
  /** Upper bound of the tokens of all prompts. */
  readonly promptBound: number;
  readonly prompts: number;
  /** Per choice; null if the client set none. */
  readonly maxTokens: number | null;
  readonly choices: number;
}

export interface TokenBounds {
  readonly prompt: number;
  /** Sent to the engine, per choice, if all of it can be reserved. */
  readonly maxTokens: number;
  readonly worstNanoUsd: bigint;
  /** The worst case of the shortest response if the client set no length; otherwise the full worst case. */
  readonly leastNanoUsd: bigint;
}

/** The limit if the client sets none; a model can only lower it. */
const defaultMaxTokens = 4_096;
/** Above any real completion; larger values could not be priced exactly for many choices. */
const maxCompletionTokens = 2 ** 24;
/** A prompt whose bytes fill the context usually has far fewer tokens, so this much is left for the completion. */
const minCompletionRoom = 1_024;

/**
 * The bytes of a prompt bound its tokens, and so does the context. A client that sets no length gets the minimum of what the
 * model allows, the context leaves and its credit covers.
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
    message: `This model returns at most ${most} tokens.`,
    issues: [{ path: ['max_tokens'], message: `must be at most ${most}`, code: 'too_big' }],
  });
}

function defaultLength(most: number, context: number | null, prompt: number): number {
  const length = Math.min(most, defaultMaxTokens);
  if (context === null) return length;
  return Math.min(length, Math.max(context - prompt, Math.min(minCompletionRoom, context)));
}

/** The length per choice that the reservation covers, which can be below the requested one. */
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

/** The cache state is unknown, so the higher of both prompt prices counts. */
function maxCost(price: FrozenModelPrice, prompt: number, completion: number): bigint {
  const fresh = tokenCost(price, { prompt, cached: 0, completion });
  if (price.cachedPromptNanoUsdPerMillion === price.promptNanoUsdPerMillion) return fresh;
  const cached = tokenCost(price, { prompt, cached: prompt, completion });
  return cached > fresh ? cached : fresh;
}

/** Cached tokens beyond the prompt are ignored. */
export function costOfCounts(price: FrozenModelPrice, counts: TokenCounts): bigint {
  return tokenCost(price, { ...counts, cached: Math.min(counts.cached, counts.prompt) });
}
