import { z } from 'zod';
import { withoutBidiControls } from '../../bidi-text.ts';
import { gpuType, region } from '../../records/vocabulary.ts';
import { scopeNames } from '../../scopes.ts';
import {
  keyId,
  mode,
  noContent,
  v2Operation,
  pageOf,
  pageQuery,
  sshKeyId,
  timestamp,
  userId,
} from '../../operation-builders.ts';

/** The non-secret part of a key, in Crockford's base32. It identifies the key in lists, logs and audit entries. */
export const keyPublicId = z
  .string()
  .regex(/^[0-9A-HJKMNP-TV-Z]{12}$/)
  .meta({ description: 'The public part of the key.', examples: ['4T2M9V6B3N5C'] });

/** The public start of a key, for users and for secret scanners. */
export const keyPrefix = z
  .string()
  .regex(/^mr_(live|test)_[0-9A-HJKMNP-TV-Z]{12}$/)
  .meta({ description: 'The start of the key, safe to show.', examples: ['mr_live_4T2M9V6B3N5C'] });

export const scope = z.enum(scopeNames).meta({ id: 'Scope', 'x-extensible': true });

/** A model name, or a prefix of one followed by `*`. */
const modelPattern = z
  .string()
  .max(201)
  .regex(/^[A-Za-z0-9][A-Za-z0-9._/:-]{0,199}\*?$|^\*$/, 'must be a model name, optionally ending in *');

const budget = z.object({
  usd: z.number().positive().max(1_000_000_000),
  period: z.enum(['hour', 'day', 'week', 'month', 'total']),
});

/** The limits of a key, in addition to those of its organisation. Null or absent: no limit. */
export const apiKeyLimits = z
  .object({
    maxUsdPerHour: z.number().nonnegative().max(1_000_000_000).nullable().default(null),
    maxLiveRentals: z.number().int().nonnegative().max(1_000_000).nullable().default(null),
    maxRentalSeconds: z.number().int().min(60).max(315_360_000).nullable().default(null),
    budget: budget.nullable().default(null),
    rpm: z.number().int().min(1).max(10_000_000).nullable().default(null),
    tpm: z.number().int().min(1).max(1_000_000_000_000).nullable().default(null),
    models: z.array(modelPattern).max(100).nullable().default(null),
    regions: z.array(region).max(100).nullable().default(null),
    gpuTypes: z.array(gpuType).max(100).nullable().default(null),
  })
  .meta({ id: 'ApiKeyLimits' });

export type ApiKeyLimits = z.output<typeof apiKeyLimits>;

/** An address or a network, IPv4 or IPv6. */
const ipOrNetwork = z.union([z.ipv4().max(64), z.ipv6().max(64), z.cidrv4().max(64), z.cidrv6().max(64)], {
  error: 'must be an IP address or a network such as 10.0.0.0/8',
});

export const apiKeyName = z.string().trim().min(1).max(100);

const apiKeyFields = {
  id: keyId,
  publicId: keyPublicId,
  prefix: keyPrefix,
  name: apiKeyName,
  mode,
  scopes: z.array(scope),
  limits: apiKeyLimits,
  allowedIps: z.array(z.string()),
  createdBy: userId,
  createdAt: timestamp,
  expiresAt: timestamp.nullable(),
  lastUsedAt: timestamp.nullable().meta({ description: 'Accurate to a minute.' }),
  revokedAt: timestamp.nullable(),
  rotatedFrom: keyId.nullable().meta({ description: 'The key that this one replaced.' }),
};

export const apiKey = z.object(apiKeyFields).meta({ id: 'ApiKey' });

const newApiKey = z
  .object({
    ...apiKeyFields,
    key: z.string().nullable().meta({
      description: 'The key, shown only once. A replay returns null, because secrets are not stored.',
    }),
  })
  .meta({ id: 'NewApiKey' });

const rotatedApiKey = z
  .object({
    ...newApiKey.shape,
    previous: z.object({ id: keyId, expiresAt: timestamp }).meta({
      description: 'The replaced key and the time at which it stops working.',
    }),
  })
  .meta({ id: 'RotatedApiKey' });

const createApiKeyBody = z
  .object({
    name: withoutBidiControls(apiKeyName),
    scopes: z.array(scope).min(1).max(scopeNames.length).meta({
      description: 'A subset of the scopes of the creator.',
    }),
    expiresAt: timestamp.nullable().default(null),
    limits: apiKeyLimits.prefault({}),
    allowedIps: z.array(ipOrNetwork).max(100).default([]).meta({
      description: 'Addresses and networks from which the key can be used. Empty: anywhere.',
    }),
    mode: mode.default('live').meta({
      description: 'A `test` key can use only the mock provider: free and deterministic.',
    }),
  })
  .meta({ id: 'ApiKeyCreate' });

export const rotationOverlapSecondsMax = 7 * 24 * 3600;

const keyParams = z.object({ keyId });

const apiKeyOperations = {
  createApiKey: v2Operation('POST /v2/api-keys', {
    scope: 'api-keys:write',
    summary: 'Create an API key',
    description: 'Only this response contains the key. A key cannot have more rights than its creator.',
    tags: ['api-keys'],
    body: createApiKeyBody,
    response: { status: 201, schema: newApiKey },
    idempotency: 'key',
    redactForReplay: ['key'],
  }),
  listApiKeys: v2Operation('GET /v2/api-keys', {
    scope: 'api-keys:read',
    summary: 'List API keys, newest first',
    tags: ['api-keys'],
    query: pageQuery,
    response: { status: 200, schema: pageOf(apiKey) },
  }),
  getApiKey: v2Operation('GET /v2/api-keys/{keyId}', {
    scope: 'api-keys:read',
    summary: 'Read an API key, without its secret',
    tags: ['api-keys'],
    params: keyParams,
    response: { status: 200, schema: apiKey },
    notFoundReason: 'API_KEY_NOT_FOUND',
  }),
  revokeApiKey: v2Operation('DELETE /v2/api-keys/{keyId}', {
    scope: 'api-keys:write',
    summary: 'Revoke an API key',
    description: 'The key is refused everywhere within a second. Revoking twice returns the same result.',
    tags: ['api-keys'],
    params: keyParams,
    response: { status: 200, schema: apiKey },
    notFoundReason: 'API_KEY_NOT_FOUND',
  }),
  rotateApiKey: v2Operation('POST /v2/api-keys/{keyId}/rotate', {
    scope: 'api-keys:write',
    summary: 'Replace an API key with a new one with the same rights',
    description: 'The replaced key keeps working for `overlapSeconds`, so that you can update callers.',
    tags: ['api-keys'],
    params: keyParams,
    body: z
      .object({ overlapSeconds: z.number().int().min(0).max(rotationOverlapSecondsMax).default(0) })
      .meta({ id: 'ApiKeyRotate' }),
    response: { status: 201, schema: rotatedApiKey },
    refuses: [409],
    idempotency: 'key',
    notFoundReason: 'API_KEY_NOT_FOUND',
    redactForReplay: ['key'],
  }),
} as const;

export const sshAlgorithms = [
  'ssh-ed25519',
  'ssh-rsa',
  'ecdsa-sha2-nistp256',
  'ecdsa-sha2-nistp384',
  'ecdsa-sha2-nistp521',
  'sk-ssh-ed25519@openssh.com',
  'sk-ecdsa-sha2-nistp256@openssh.com',
] as const;

const sshPublicKey = z
  .object({
    id: sshKeyId,
    name: z.string().max(100),
    publicKey: z
      .string()
      .meta({ description: 'In OpenSSH format, regardless of the format in which it was sent.' }),
    fingerprint: z
      .string()
      .regex(/^SHA256:[A-Za-z0-9+/]{43}$/)
      .meta({ description: 'As `ssh-keygen -l` prints it.' }),
    algorithm: z.enum(sshAlgorithms),
    createdAt: timestamp,
  })
  .meta({ id: 'SshPublicKey' });

const sshKeyOperations = {
  createSshPublicKey: v2Operation('POST /v2/ssh-public-keys', {
    scope: 'ssh-keys:write',
    summary: 'Add an SSH public key',
    description:
      'Accepts OpenSSH, PEM and PuTTY (PPK) formats. Private, weak or damaged keys are refused with the reason, and private keys are not stored.',
    tags: ['ssh-public-keys'],
    body: z
      .object({
        name: withoutBidiControls(z.string().trim().min(1).max(100)),
        publicKey: z.string().min(1).max(16_384),
      })
      .meta({ id: 'SshPublicKeyCreate' }),
    response: { status: 201, schema: sshPublicKey },
    refuses: [409, 422],
    idempotency: 'key',
  }),
  listSshPublicKeys: v2Operation('GET /v2/ssh-public-keys', {
    scope: 'ssh-keys:read',
    summary: 'List your SSH public keys',
    tags: ['ssh-public-keys'],
    query: pageQuery,
    response: { status: 200, schema: pageOf(sshPublicKey) },
  }),
  deleteSshPublicKey: v2Operation('DELETE /v2/ssh-public-keys/{sshKeyId}', {
    scope: 'ssh-keys:write',
    summary: 'Remove an SSH public key',
    description: 'Running machines keep it; new ones do not get it.',
    tags: ['ssh-public-keys'],
    params: z.object({ sshKeyId }),
    response: noContent,
    notFoundReason: 'SSH_KEY_NOT_FOUND',
  }),
} as const;

export const keyOperations = { ...apiKeyOperations, ...sshKeyOperations } as const;
