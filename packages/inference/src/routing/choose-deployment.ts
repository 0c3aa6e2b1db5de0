import type { DeploymentEntry } from '@millrace/core/inference';
import { ratio } from '@millrace/platform/money';
import { hashText, mix32 } from './hash.ts';
import type { DeploymentView, DeploymentPriceOf, RoutePreference, RouteRequest } from './router-types.ts';

/**
 * The choice itself: rendezvous hashing with bounded loads. Each deployment draws a number from the request's key and its own
 * hash, and the lowest wins; a deployment of twice the weight wins twice as often. Equal keys draw equal numbers, so they meet
 * at one place; when a deployment goes, only its own keys move, and each to its own second choice. A deployment that has
 * more than its share of the load is passed over, so no prefix however popular makes a place hot. One pass, no allocation.
 */

/** A deployment as it stands to be chosen: what the catalog says of it, and how it is just now. */
export interface Candidate {
  readonly entry: DeploymentEntry;
  readonly hash: number;
  readonly inverseWeight: number;
  readonly state: Omit<DeploymentView, 'entry'>;
}

export interface ChoiceLimits {
  /** A deployment takes up to this many times its share of all requests that are there. */
  readonly loadFactor: number;
  /** With fewer than this it has room whatever the others have: engines batch, and a few do not hurt each other. */
  readonly freeLoad: number;
  /** An engine in which so many wait takes no more. */
  readonly maxEngineWaiting: number;
}

/** Instead of an index: all that could take it are full. */
export const NO_CAPACITY = -1;
/** Instead of an index: there is none that could take it. */
export const NO_DEPLOYMENT = -2;

const UNIT = 2 ** -32;

export function candidateOf(entry: DeploymentEntry, state: Candidate['state']): Candidate {
  return { entry, hash: hashText(entry.id), inverseWeight: ratio(1, entry.weight), state };
}

/** The index of the one to take, or FULL or NONE. `key` comes from the organisation and the beginning of the prompt. */
export function chooseDeployment(
  candidates: readonly Candidate[],
  key: number,
  request: Pick<RouteRequest, 'by' | 'except'>,
  limits: ChoiceLimits,
  priceOf?: DeploymentPriceOf,
): number {
  let load = 1;
  let weight = 0;
  for (const candidate of candidates) {
    if (!isUsable(candidate, request.except)) continue;
    load += loadOf(candidate);
    weight += candidate.entry.weight;
  }
  if (weight === 0) return NO_DEPLOYMENT;

  // A share is load x own weight : weight of all; multiplied out, so that nothing is divided for each request.
  const bound = limits.loadFactor * load;
  let best = NO_CAPACITY;
  let bestRank = 0;
  let bestPrice = 0n;
  let bestMeasure = 0;
  let bestDraw = 0;
  for (let index = 0; index < candidates.length; index += 1) {
    const candidate = candidates[index];
    if (candidate === undefined || !isUsable(candidate, request.except) || !hasCapacity(candidate, limits))
      continue;
    const own = loadOf(candidate);
    const isEasy =
      candidate.state.waiting === 0 &&
      (own < limits.freeLoad || own * weight < bound * candidate.entry.weight);
    const rank = rankOf(candidate, request.by, isEasy);
    if (best !== NO_CAPACITY && rank > bestRank) continue;
    const price = request.by === 'price' && priceOf !== undefined ? priceOf(candidate.entry) : 0n;
    const measure = isEasy ? measureOf(candidate, request.by) : 1 + own * candidate.inverseWeight;
    const draw = drawOf(candidate, key);
    const isBetter =
      best === NO_CAPACITY ||
      rank < bestRank ||
      price < bestPrice ||
      (price === bestPrice && (measure < bestMeasure || (measure === bestMeasure && draw < bestDraw)));
    if (!isBetter) continue;
    best = index;
    bestRank = rank;
    bestPrice = price;
    bestMeasure = measure;
    bestDraw = draw;
  }
  return best;
}

function isUsable(candidate: Candidate, except: ReadonlySet<string>): boolean {
  const { entry, state } = candidate;
  return (
    entry.weight > 0 &&
    state.breaker !== 'open' &&
    state.health !== 'down' &&
    (except.size === 0 || !except.has(entry.id))
  );
}

function loadOf(candidate: Candidate): number {
  return candidate.state.inFlight + candidate.state.others;
}

/** The hard bounds: nobody is sent beyond these, whatever the order. */
function hasCapacity(candidate: Candidate, limits: ChoiceLimits): boolean {
  const { entry, state } = candidate;
  if (state.isSaturated || state.waiting >= limits.maxEngineWaiting) return false;
  if (state.isOnTrial) return false;
  return entry.maxConcurrency === null || loadOf(candidate) < entry.maxConcurrency;
}

/** Lower is better, before everything else: those in trouble last, those with more than their share after those without. */
function rankOf(candidate: Candidate, by: RoutePreference, isEasy: boolean): number {
  const penalty = candidate.state.health === 'degraded' ? 2 : 0;
  // Who asks for the lowest price gets it as long as there is room at all; of equal prices the easier place.
  return by === 'price' || isEasy ? penalty : penalty + 1;
}

/** Lower is better. Where nothing was measured lately, one request goes to measure it and the others wait for the result. */
function measureOf(candidate: Candidate, by: RoutePreference): number {
  const { firstTokenMs, tokensPerSecond, inFlight } = candidate.state;
  switch (by) {
    case 'affinity':
    case 'price':
      return 0;
    case 'latency':
      return firstTokenMs ?? (inFlight === 0 ? -1 : Number.MAX_VALUE);
    case 'throughput':
      return tokensPerSecond === null ? (inFlight === 0 ? -Number.MAX_VALUE : 0) : -tokensPerSecond;
  }
}

/** An exponentially distributed number with the weight as its rate: the lowest of several is each one's by its weight. */
function drawOf(candidate: Candidate, key: number): number {
  const uniform = (mix32(key ^ candidate.hash) + 0.5) * UNIT;
  return -Math.log(uniform) * candidate.inverseWeight;
}
