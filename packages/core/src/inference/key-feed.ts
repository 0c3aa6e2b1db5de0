import { z } from 'zod';
import { frozenModelPrice } from '../prices/index.ts';

/**
 * What gateways know without asking the database: the entries of the gateway book, a key-value bucket of the broker that
 * every gateway watches. PostgreSQL is the truth; the book is its projection, written by api and workers after commit and
 * compared again and again. Plain JSON, so that it can be read with the broker's own tools.
 */

/** One for an installation; a prefix keeps tests apart. */
export function keyFeedBucket(prefix: string): string {
  return `${prefix === '' ? '' : `${prefix.replaceAll('.', '_').toUpperCase()}_`}GATEWAY_BOOK`;
}

/**
 * Says how much of the database was written to this bucket: first the catalog, then all. What is missing before that may
 * exist all the same.
 */
export const KEY_FEED_FILL_STATE = 'book.filled';
const fillStateEntry = z.strictObject({ version: z.literal(1), filled: z.enum(['catalog', 'all']) });
export type KeyFeedFillState = z.infer<typeof fillStateEntry>['filled'];

/** Null also for what another release, or nobody of ours, wrote there: then it is filled anew, and said so again. */
export function parseFillState(text: string | null | undefined): KeyFeedFillState | null {
  try {
    return text == null ? null : fillStateEntry.parse(JSON.parse(text)).filled;
  } catch {
    return null;
  }
}

export function fillStateText(filled: KeyFeedFillState): string {
  return JSON.stringify({ version: 1, filled } satisfies z.infer<typeof fillStateEntry>);
}

/** Tells one bucket from another that took its place. */
export const KEY_FEED_ID = 'book.id';

const orgId = z.string();
const stringList = z.array(z.string()).readonly();

/** A key as a gateway judges it. Found by its public id. Scopes are the effective ones: cut with what its user may do. */
export const keyEntry = z.strictObject({
  version: z.literal(1),
  keyId: z.string(),
  orgId,
  mode: z.enum(['live', 'test']),
  /** Hex. */
  secretSha256: z.string(),
  scopes: stringList,
  /** Null: it is good. Otherwise it is refused for this, once its secret fits. */
  refusedFor: z.enum(['API_KEY_REVOKED', 'API_KEY_EXPIRED']).nullable(),
  expiresAtMs: z.int().nullable(),
  allowedIps: stringList,
  requestsPerMinute: z.int().nullable(),
  tokensPerMinute: z.int().nullable(),
  /** Patterns with `*`; null is all. */
  models: stringList.nullable(),
  /** The budgets of its own that its requests count against. The organisation's are held against by its pot. */
  budgetIds: stringList,
});

export const organisationEntry = z.strictObject({
  version: z.literal(1),
  orgId,
  isSuspended: z.boolean(),
  /** Its first deposits were made. Absent in entries of workers before this field. */
  isFunded: z.boolean().default(false),
  requestsPerMinute: z.int(),
});

/** A price with the time in which it counts, by the gateway's clock. */
const timedPrice = z.strictObject({
  fromMs: z.int().nullable(),
  untilMs: z.int().nullable(),
  price: frozenModelPrice,
});

export const deploymentEntry = z.strictObject({
  id: z.string(),
  engine: z.enum([
    'vllm',
    'sglang',
    'llama.cpp',
    'openai',
    'openai-images',
    'automatic1111',
    'comfyui',
    'speech',
    'mock',
  ]),
  /** Base address, without the path of an operation. */
  address: z.string(),
  /** The name by which the engine knows the model. */
  upstreamModel: z.string(),
  /** Sent as a bearer token; the book is as secret as the database. */
  apiKey: z.string().nullable(),
  region: z.string(),
  weight: z.int().min(0),
  maxConcurrency: z.int().nullable(),
});

const contractPrices = z.record(z.string(), z.array(timedPrice).readonly());

/** A model with all that serves it. One entry, so that a gateway never sees half of a change. */
export const modelEntry = z.strictObject({
  version: z.literal(1),
  name: z.string(),
  /** Other names that mean it. */
  aliases: stringList,
  modality: z.enum(['chat', 'completion', 'image', 'audio']),
  inputModalities: z.array(z.enum(['text', 'image', 'audio'])).readonly(),
  contextLength: z.int().nullable(),
  maxOutputTokens: z.int().nullable(),
  ownedBy: z.string(),
  createdAtMs: z.int(),
  mode: z.enum(['live', 'test']),
  /** Null: everyone. Others do not see that it exists. */
  visibleTo: stringList.nullable(),
  /** Models to take instead, in this order, when no deployment of it can. */
  fallbacks: stringList,
  requestsPerMinute: z.int().nullable(),
  /** What everyone pays, and what organisations with a contract pay. */
  prices: z.array(timedPrice).readonly(),
  contractPrices,
  /**
   * Present if the contract prices are too large for this entry: they are in so many entries of their own. Without all of
   * them no price of this model is known. Gateways of releases before this field cannot read such an entry.
   */
  contractParts: z.int().min(2).optional(),
  deployments: z.array(deploymentEntry).readonly(),
});

/** Contract prices of a model. An organisation is always in the same one of `parts` entries, so each is whole by itself. */
export const contractPartEntry = z.strictObject({ version: z.literal(1), contractPrices });

export type KeyEntry = Readonly<z.infer<typeof keyEntry>>;
export type OrganisationEntry = Readonly<z.infer<typeof organisationEntry>>;
export type ModelEntry = Readonly<z.infer<typeof modelEntry>>;
export type ContractPartEntry = Readonly<z.infer<typeof contractPartEntry>>;
export type DeploymentEntry = Readonly<z.infer<typeof deploymentEntry>>;
export type EngineKind = DeploymentEntry['engine'];

/** Names in the bucket. A model's name may hold what a subject may not, so its hex stands for it. */
export const keyFeedKeys = {
  key: (publicId: string): string => `key.${publicId}`,
  organisation: (id: string): string => `org.${id}`,
  model: (name: string): string => `model.${hexOf(name)}`,
  allModels: 'model.>',
  /** Contract prices: one of `parts` entries, counted from 0. */
  contractPart: (model: string, count: number, part: number): string =>
    `contracts.${hexOf(model)}.${count}.${part}`,
  contractPartsOf: (model: string): string => `contracts.${hexOf(model)}.>`,
  allContractParts: 'contracts.>',
  /** By the key of a model or of a part of its contract prices. */
  nameOfModel: (key: string): string => Buffer.from(key.split('.')[1] ?? '', 'hex').toString('utf8'),
} as const;

function hexOf(name: string): string {
  return Buffer.from(name, 'utf8').toString('hex');
}
