import type { KeyEntry, ModelEntry } from '@millrace/core/inference';
import type { FrozenModelPrice } from '@millrace/core/prices';

/** Complete, valid entries for tests; each test overrides the fields it is about. */

export function frozenPrice(fields: Partial<FrozenModelPrice> = {}): FrozenModelPrice {
  return {
    version: 1,
    model: 'maker/chat',
    promptNanoUsdPerMillion: '200000000',
    cachedPromptNanoUsdPerMillion: '100000000',
    completionNanoUsdPerMillion: '600000000',
    imageNanoUsd: '10000000',
    characterNanoUsd: '5000',
    priceIds: [],
    ...fields,
  };
}

export function modelOf(fields: Partial<ModelEntry> = {}): ModelEntry {
  return {
    version: 1,
    name: 'maker/chat',
    aliases: [],
    modality: 'chat',
    inputModalities: ['text'],
    contextLength: 8_192,
    maxOutputTokens: 1_024,
    ownedBy: 'maker',
    createdAtMs: 1_780_000_000_000,
    mode: 'live',
    visibleTo: null,
    fallbacks: [],
    requestsPerMinute: null,
    prices: [{ fromMs: null, untilMs: null, price: frozenPrice() }],
    contractPrices: {},
    deployments: [
      {
        id: 'dep_01JD8Q7XK4T2M9V6B3N5C1F0GH',
        engine: 'llama.cpp',
        address: 'http://127.0.0.1:8080',
        upstreamModel: 'chat',
        apiKey: null,
        region: 'us-central-1',
        weight: 100,
        maxConcurrency: null,
      },
    ],
    ...fields,
  };
}

export function keyOf(fields: Partial<KeyEntry> = {}): KeyEntry {
  return {
    version: 1,
    keyId: 'key_01JD8Q7XK4T2M9V6B3N5C1F0GH',
    orgId: 'org_01JD8Q7XK4T2M9V6B3N5C1F0GH',
    mode: 'live',
    secretSha256: 'ab'.repeat(32),
    scopes: ['inference:read', 'inference:write'],
    refusedFor: null,
    expiresAtMs: null,
    allowedIps: [],
    requestsPerMinute: null,
    tokensPerMinute: null,
    models: null,
    budgetIds: [],
    ...fields,
  };
}
