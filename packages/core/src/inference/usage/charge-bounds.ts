import type { Tx } from '@millrace/platform/db';
import type { OrgId } from '@millrace/platform/ids';
import { maxRecentCost, readPricesOfModels, costBoundStart, type RequestSize } from '../../prices/index.ts';
import { findModels } from '../catalog/catalog.store.ts';
import type { Model } from '../catalog/catalog.ts';

/** Limits the plausible cost of a request: a compromised gateway can report any cost, so usage above the limit is not charged. */

/** The limits of the public API. Tests compare them with the contract. */
export const publicApiLimits = {
  /** The number of prompts times n. */
  choices: 128,
  imageSide: 2_496,
  imageSteps: 1_000,
  images: 10,
  characters: 20_000,
} as const;
/** The largest body in bytes that a gateway can be configured to read: a prompt has at most as many tokens. */
const maxPromptTokens = 2n ** 28n;
/** Gateways never request a longer completion from an engine. */
const maxCompletionTokens = 2n ** 24n;
/** Engines may count more than was requested; the operator absorbs the part beyond the reservation. */
const toleranceFactor = 2n;

type ModelSizeLimits = Pick<Model, 'modality' | 'contextLength' | 'maxOutputTokens'>;

const emptyRequest = { promptTokens: 0n, completionTokens: 0n, imagePixelSteps: 0n, characters: 0n };

/** The largest request that the API and the model accept. */
export function maxRequestSize({ modality, contextLength, maxOutputTokens }: ModelSizeLimits): RequestSize {
  const { choices, imageSide, imageSteps, images, characters } = publicApiLimits;
  switch (modality) {
    case 'chat':
    case 'completion': {
      const context = contextLength === null ? null : BigInt(contextLength);
      const responses = [context, maxOutputTokens, maxCompletionTokens]
        .flatMap((length) => length ?? [])
        .map(BigInt);
      const response = responses.reduce((least, length) => (length < least ? length : least));
      return {
        ...emptyRequest,
        // Each of several prompts can fill the context. Without a context length, all of them share the bytes of the body.
        promptTokens: context === null ? maxPromptTokens : context * BigInt(choices),
        completionTokens: response * BigInt(choices),
      };
    }
    case 'image':
      return { ...emptyRequest, imagePixelSteps: BigInt(imageSide * imageSide * imageSteps * images) };
    case 'audio':
      return { ...emptyRequest, characters: BigInt(characters) };
  }
}

interface ChargeSubject {
  readonly orgId: OrgId;
  readonly model: string;
}

/**
 * The limit of each charge, with two reads per batch. Models without recent prices have no limit, because a restored database
 * may lack the prices, or usage was deferred for longer. The lease then limits the charge.
 */
export async function readMaxCosts(
  tx: Tx,
  uses: readonly ChargeSubject[],
): Promise<(use: ChargeSubject) => bigint | undefined> {
  const now = tx.clock.now();
  const names = [...new Set(uses.map(({ model }) => model))];
  if (names.length === 0) return () => undefined;
  const orgIds = [...new Set(uses.map(({ orgId }) => orgId))];
  const models = new Map((await findModels(tx, names)).map((model) => [model.name, model]));
  const prices = await readPricesOfModels(tx, names, { since: costBoundStart(now), orgIds });
  const pricesByModel = Map.groupBy(prices, ({ subject }) => subject.model);
  const known = new Map<string, bigint>();
  return ({ orgId, model: name }) => {
    const key = `${orgId} ${name}`;
    const found = known.get(key);
    if (found !== undefined) return found;
    const model = models.get(name);
    const list = pricesByModel.get(name);
    if (model === undefined || list === undefined) return undefined;
    const bound = toleranceFactor * maxRecentCost(list, { orgId, model: name, now }, maxRequestSize(model));
    known.set(key, bound);
    return bound;
  };
}
