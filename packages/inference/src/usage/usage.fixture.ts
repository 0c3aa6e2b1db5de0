import type { UsageEvent } from '@millrace/core/inference';
import { testIds } from '@millrace/testing';

export function usageEventOf(over: Partial<UsageEvent>): UsageEvent {
  return {
    kind: 'final',
    requestId: testIds.next('req'),
    orgId: testIds.next('org'),
    mode: 'live',
    keyId: testIds.next('key'),
    leaseId: testIds.next('lse'),
    gatewayId: 'gw-1.1',
    budgetIds: [],
    reservedNanoUsd: '5000',
    amountNanoUsd: '1200',
    pricedNanoUsd: '1200',
    priceIds: [],
    model: 'model-one',
    deployment: 'dep-one',
    createdAtMs: 1_700_000_000_000,
    streamed: true,
    cancelled: false,
    finishReason: 'stop',
    latencyMs: 120,
    ttftMs: 20,
    generationMs: 100,
    tokensPrompt: 10,
    tokensCached: 4,
    tokensCompletion: 7,
    imagePixelSteps: 0,
    characters: 0,
    attempts: [],
    ...over,
  };
}
