import { expect, test } from 'vitest';
import type { PolicyState } from '../../limiter/index.ts';
import { durationText, rateHeaders } from './rate-headers.ts';

function state(name: string, limit: number, remaining: number, resetMs: number): PolicyState {
  const policy = { name, scope: 'key', subject: 'x', limit, windowMs: 60_000 } as const;
  return { policy, limit, remaining, resetMs, retryAfterMs: 0 };
}

test.each([
  [0, '0s'],
  [0.2, '1ms'],
  [17, '17ms'],
  [999.5, '1000ms'],
  [1_000, '1s'],
  [1_001, '2s'],
  [59_001, '1m0s'],
  [360_000, '6m0s'],
  [3_599_001, '1h0m0s'],
  [86_400_000, '24h0m0s'],
])('durationText formats %d ms as %s', (ms, text) => {
  expect(durationText(ms)).toBe(text);
});

test('rateHeaders lists every policy in the draft headers and the tightest one in the others', () => {
  const policies = [state('organisation', 600, 300, 30_000), state('key', 60, 5, 90_000)];
  expect(rateHeaders({ allowed: true, degraded: false, refusedBy: null, policies })).toEqual({
    'ratelimit-policy': '"organisation";q=600;w=60, "key";q=60;w=60',
    ratelimit: '"organisation";r=300;t=30, "key";r=5;t=90',
    'x-ratelimit-limit-requests': '60',
    'x-ratelimit-remaining-requests': '5',
    'x-ratelimit-reset-requests': '1m30s',
  });
});
