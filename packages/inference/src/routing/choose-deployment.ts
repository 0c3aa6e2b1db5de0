import type { DeploymentEntry } from '@millrace/core/inference';
import { ratio } from '@millrace/platform/money';
import { hashText, mix32 } from './hash.ts';
import type { DeploymentView, DeploymentPriceOf, RoutePreference, RouteRequest } from './router-types.ts';

/**
 * Rendezvous hashing with bounded loads, in one pass without allocation. Each deployment draws a number from the key and its
 * hash; the lowest wins, in proportion to weight. Equal keys meet at one deployment, and if it is removed, only its keys move. A
 * deployment above its share of the load is skipped, so a popular prefix overloads none.
 */

/** A deployment with its catalog entry and its current state. */
export interface Candidate {
  readonly entry: DeploymentEntry;
  readonly hash: number;
  readonly inverseWeight: number;
  readonly state: Omit<DeploymentView, 'entry'>;
}

export interface ChoiceLimits {
  /** A deployment takes up to this multiple of its share of the model's load. */
  readonly loadFactor: number;
  /** Below this load a deployment always has easy capacity, because engines batch a few requests without slowing down. */
  readonly freeLoad: number;
  /** An engine with this many waiting requests gets no more. */
  readonly maxEngineWaiting: number;
}

/** Returned instead of an index: all usable deployments are full. */
export const NO_CAPACITY = -1;
/** Returned instead of an index: no deployment is usable. */
export const NO_DEPLOYMENT = -2;

const UNIT = 2 ** -32;

export function candidateOf(entry: DeploymentEntry, state: Candidate['state']): Candidate {
  return { entry, hash: hashText(entry.id), inverseWeight: ratio(1, entry.weight), state };
}

/** Returns an index, `NO_CAPACITY` or `NO_DEPLOYMENT`. `key` hashes the organisation and the prefix of the prompt. */
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

  // A share is load x own weight / total weight. It is multiplied out to avoid a division per candidate.
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

/** Hard limits that apply to every preference. */
function hasCapacity(candidate: Candidate, limits: ChoiceLimits): boolean {
  const { entry, state } = candidate;
  if (state.isSaturated || state.waiting >= limits.maxEngineWaiting) return false;
  if (state.isOnTrial) return false;
  return entry.maxConcurrency === null || loadOf(candidate) < entry.maxConcurrency;
}

/** Lower is better and decides first: healthy before degraded, within the share before above it. */
function rankOf(candidate: Candidate, by: RoutePreference, isEasy: boolean): number {
  const penalty = candidate.state.health === 'degraded' ? 2 : 0;
  // By price, the cheapest deployment with capacity wins; of equal prices, the less loaded one.
  return by === 'price' || isEasy ? penalty : penalty + 1;
}

/** Lower is better. A deployment without a recent measurement gets one request to measure it; others wait for the result. */
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

/** An exponential draw with the weight as its rate, so each deployment has the lowest draw in proportion to its weight. */
function drawOf(candidate: Candidate, key: number): number {
  const uniform = (mix32(key ^ candidate.hash) + 0.5) * UNIT;
  return -Math.log(uniform) * candidate.inverseWeight;
}
