import { z } from 'zod';
import { frozenModelPrice } from '../prices/index.ts';

/**
 * Entries of the key feed, a NATS key-value bucket that every gateway follows instead of asking the database. It is a
 * projection of PostgreSQL, written by api and workers after each commit and compared periodically. JSON, readable with NATS tools.
 */

/** One bucket per installation; a prefix separates tests. */
export function keyFeedBucket(prefix: string): string {
  return `${prefix === '' ? '' : `${prefix.replaceAll('.', '_').toUpperCase()}_`}GATEWAY_BOOK`;
}

/** The fill state of this bucket: first the catalog, then all. Before `all`, a missing entry may still exist in the database. */
export const KEY_FEED_FILL_STATE = 'book.filled';
const fillStateEntry = z.strictObject({ version: z.literal(1), filled: z.enum(['catalog', 'all']) });
export type KeyFeedFillState = z.infer<typeof fillStateEntry>['filled'];

/** Null also for a value of another release: then the bucket is filled again. */
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

/** Distinguishes a bucket from one that replaced it. */
export const KEY_FEED_ID = 'book.id';

const orgId = z.string();
const stringList = z.array(z.string()).readonly();

/** A key as gateways check it, by its public id. Scopes are the effective ones: limited to what its user may do. */
export const keyEntry = z.strictObject({
  version: z.literal(1),
  keyId: z.string(),
  orgId,
  mode: z.enum(['live', 'test']),
  /** Hex. */
  secretSha256: z.string(),
  scopes: stringList,
  /** Why the key is rejected after its secret was verified; null if the key is valid. */
  refusedFor: z.enum(['API_KEY_REVOKED', 'API_KEY_EXPIRED']).nullable(),
  expiresAtMs: z.int().nullable(),
  allowedIps: stringList,
  requestsPerMinute: z.int().nullable(),
  tokensPerMinute: z.int().nullable(),
  /** Patterns with `*`; null allows all models. */
  models: stringList.nullable(),
  /** The key's own budgets. Budgets of the organisation are covered by the hold of its credit lease. */
  budgetIds: stringList,
});

export const organisationEntry = z.strictObject({
  version: z.literal(1),
  orgId,
  isSuspended: z.boolean(),
  /** Whether its first deposits were made. Absent in entries of older workers. */
  isFunded: z.boolean().default(false),
  requestsPerMinute: z.int(),
});

/** A price and its period of validity, by the gateway's clock. */
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
  /** The engine's name of the model. */
  upstreamModel: z.string(),
  /** Sent as a bearer token. In the bucket it is null, except in entries of earlier releases: see `sealedApiKey`. */
  apiKey: z.string().nullable(),
  /** The engine's key, sealed with MILLRACE_KEY_FEED_KEYS. Absent without a key, and in memory. */
  sealedApiKey: z.string().optional(),
  region: z.string(),
  weight: z.int().min(0),
  maxConcurrency: z.int().nullable(),
});

const contractPrices = z.record(z.string(), z.array(timedPrice).readonly());

/** A model with its deployments. One entry, so that a gateway never sees half of a change. */
export const modelEntry = z.strictObject({
  version: z.literal(1),
  name: z.string(),
  aliases: stringList,
  modality: z.enum(['chat', 'completion', 'image', 'audio']),
  inputModalities: z.array(z.enum(['text', 'image', 'audio'])).readonly(),
  contextLength: z.int().nullable(),
  maxOutputTokens: z.int().nullable(),
  ownedBy: z.string(),
  createdAtMs: z.int(),
  mode: z.enum(['live', 'test']),
  /** Null: all organisations. Other organisations cannot see that the model exists. */
  visibleTo: stringList.nullable(),
  /** Models to use instead, in this order, if no deployment is available. */
  fallbacks: stringList,
  requestsPerMinute: z.int().nullable(),
  /** The list price, and the contract prices of organisations. */
  prices: z.array(timedPrice).readonly(),
  contractPrices,
  /**
   * The number of contract parts, if the contract prices are too large for this entry. All parts are needed to know any price.
   * Gateways of releases before this field cannot read such an entry.
   */
  contractParts: z.int().min(2).optional(),
  deployments: z.array(deploymentEntry).readonly(),
});

/** One contract part of a model. The part of an organisation depends on its id and the count alone. */
export const contractPartEntry = z.strictObject({ version: z.literal(1), contractPrices });

export type KeyEntry = Readonly<z.infer<typeof keyEntry>>;
export type OrganisationEntry = Readonly<z.infer<typeof organisationEntry>>;
export type ModelEntry = Readonly<z.infer<typeof modelEntry>>;
export type ContractPartEntry = Readonly<z.infer<typeof contractPartEntry>>;
export type DeploymentEntry = Readonly<z.infer<typeof deploymentEntry>>;
export type EngineKind = DeploymentEntry['engine'];

/** Keys in the bucket. Model names are hex-encoded, because they can contain characters that a subject cannot. */
export const keyFeedKeys = {
  key: (publicId: string): string => `key.${publicId}`,
  organisation: (id: string): string => `org.${id}`,
  model: (name: string): string => `model.${hexOf(name)}`,
  allModels: 'model.>',
  /** A contract part: one of `count` entries, counted from 0. */
  contractPart: (model: string, count: number, part: number): string =>
    `contracts.${hexOf(model)}.${count}.${part}`,
  contractPartsOf: (model: string): string => `contracts.${hexOf(model)}.>`,
  allContractParts: 'contracts.>',
  /** From the key of a model or of a contract part. */
  nameOfModel: (key: string): string => Buffer.from(key.split('.')[1] ?? '', 'hex').toString('utf8'),
} as const;

function hexOf(name: string): string {
  return Buffer.from(name, 'utf8').toString('hex');
}
