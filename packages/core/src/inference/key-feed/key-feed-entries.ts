import type { ApiKeyLimits, PlatformRole, Role } from '@millrace/contract';
import type { BudgetId, KeyId, OrgId } from '@millrace/platform/ids';
import { effectiveScopes } from '../../identity/index.ts';
import type { ModelPriceTimelines } from '../../prices/index.ts';
import type { KeyEntry, ModelEntry, OrganisationEntry } from '../key-feed.ts';
import type { Deployment, Model } from '../catalog/catalog.ts';

/** Converts rows to key feed entries. Pure, with a fixed order of fields, so that equal values are equal text. */

/** Keys that were revoked longer ago are removed and then rejected as unknown. */
const revokedRetentionMs = 30 * 86_400_000;

/** A key with everything that determines its rights. */
export interface KeyRecord {
  readonly keyId: KeyId;
  readonly publicId: string;
  readonly orgId: OrgId;
  readonly mode: 'live' | 'test';
  readonly secretSha256: Buffer;
  readonly scopes: readonly string[];
  readonly limits: Partial<ApiKeyLimits>;
  readonly allowedIps: readonly string[];
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
  readonly revokedReason: string | null;
  /** The role of its user in the organisation; null if the user has left. */
  readonly role: Role | null;
  readonly platformRoles: readonly PlatformRole[];
  /** The budgets that can stop its requests. */
  readonly budgetIds: readonly BudgetId[];
}

export function keyEntryOf(key: KeyRecord, nowMs: number): KeyEntry | null {
  if (key.revokedAt !== null && nowMs - key.revokedAt.getTime() > revokedRetentionMs) return null;
  const { rpm = null, tpm = null, models = null } = key.limits;
  return {
    version: 1,
    keyId: key.keyId,
    orgId: key.orgId,
    mode: key.mode,
    secretSha256: key.secretSha256.toString('hex'),
    scopes: key.role === null ? [] : [...effectiveScopes(key, key.role, key.platformRoles)],
    refusedFor: refusedForOf(key),
    expiresAtMs: key.expiresAt?.getTime() ?? null,
    allowedIps: key.allowedIps,
    requestsPerMinute: rpm,
    tokensPerMinute: tpm,
    models,
    budgetIds: key.budgetIds,
  };
}

/** A future expiry is not included: gateways check `expiresAtMs` by their own clock. */
function refusedForOf(key: KeyRecord): KeyEntry['refusedFor'] {
  if (key.revokedReason === 'expired') return 'API_KEY_EXPIRED';
  return key.revokedAt === null && key.role !== null ? null : 'API_KEY_REVOKED';
}

export interface OrganisationRecord {
  readonly orgId: OrgId;
  readonly isSuspended: boolean;
  /** Whether its first deposits have raised its rate limit. */
  readonly isFunded: boolean;
}

export interface RateSettings {
  /** Requests per minute of an organisation before its first deposits. */
  readonly organisationRpm: number;
  readonly fundedRpm: number;
}

export function organisationEntryOf(facts: OrganisationRecord, rates: RateSettings): OrganisationEntry {
  return {
    version: 1,
    orgId: facts.orgId,
    isSuspended: facts.isSuspended,
    isFunded: facts.isFunded,
    requestsPerMinute: facts.isFunded ? rates.fundedRpm : rates.organisationRpm,
  };
}

export interface ModelRecord {
  readonly model: Model;
  /** Enabled deployments with their engine keys, sealed for gateways. */
  readonly deployments: readonly { readonly deployment: Deployment; readonly sealedApiKey: string | null }[];
  readonly prices: ModelPriceTimelines;
}

/** Null for a disabled model, which gateways must not know. */
export function modelEntryOf({ model, deployments, prices }: ModelRecord): ModelEntry | null {
  if (!model.enabled) return null;
  return {
    version: 1,
    name: model.name,
    aliases: model.aliases,
    modality: model.modality,
    inputModalities: model.inputModalities,
    contextLength: model.contextLength,
    maxOutputTokens: model.maxOutputTokens,
    ownedBy: model.ownedBy,
    createdAtMs: model.createdAt.getTime(),
    mode: model.mode,
    visibleTo: model.visibleTo,
    fallbacks: model.fallbacks,
    requestsPerMinute: model.requestsPerMinute,
    prices: prices.list,
    contractPrices: prices.contracts,
    deployments: deployments.map(({ deployment, sealedApiKey }) => ({
      id: deployment.id,
      engine: deployment.engine,
      address: deployment.address,
      upstreamModel: deployment.upstreamModel,
      apiKey: null,
      ...(sealedApiKey === null ? {} : { sealedApiKey }),
      region: deployment.region,
      weight: deployment.weight,
      maxConcurrency: deployment.maxConcurrency,
    })),
  };
}
