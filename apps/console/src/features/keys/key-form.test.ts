import { describe, expect, it } from 'vitest';
import { emptyKey, parseKeyForm, keySnippet, keyState, limitLines, type KeyFields } from './key-form.ts';

const now = Date.parse('2026-11-16T12:00:00Z');
const fields = (change: Partial<KeyFields> = {}): KeyFields => ({
  ...emptyKey('live', ['inference:read', 'inference:write'], 'laptop'),
  ...change,
});
const noLimits = {
  maxUsdPerHour: null,
  maxLiveRentals: null,
  maxRentalSeconds: null,
  budget: null,
  rpm: null,
  tpm: null,
  models: null,
  regions: null,
  gpuTypes: null,
};

describe('parseKeyForm', () => {
  it('sets no limits except the expiry by default', () => {
    expect(parseKeyForm(fields(), now)).toEqual({
      body: {
        name: 'laptop',
        scopes: ['inference:read', 'inference:write'],
        mode: 'live',
        limits: noLimits,
        allowedIps: [],
        expiresAt: '2027-02-14T12:00:00.000Z',
      },
    });
  });

  it('accepts every limit', () => {
    const made = parseKeyForm(
      fields({
        maxUsdPerHour: '$20.50',
        maxLiveRentals: '0',
        maxRentalTime: '12h',
        budgetUsd: '1,000',
        budgetPeriod: 'day',
        rpm: '60',
        tpm: '1 000',
        models: 'millrace-*, other',
        regions: 'eu-west-1',
        gpuTypes: 'H100',
        allowedIps: '10.0.0.0/8\n2001:db8::/32',
        expires: '',
      }),
      now,
    );
    expect(made).toMatchObject({
      body: {
        limits: {
          maxUsdPerHour: 20.5,
          maxLiveRentals: 0,
          maxRentalSeconds: 43_200,
          budget: { usd: 1_000, period: 'day' },
          rpm: 60,
          tpm: 1_000,
          models: ['millrace-*', 'other'],
          regions: ['eu-west-1'],
          gpuTypes: ['h100'],
        },
        allowedIps: ['10.0.0.0/8', '2001:db8::/32'],
        expiresAt: null,
      },
    });
  });

  it.each([
    ['name', { name: '  ' }],
    ['scopes', { scopes: new Set<never>() }],
    ['maxUsdPerHour', { maxUsdPerHour: '-1' }],
    ['maxLiveRentals', { maxLiveRentals: '1.5' }],
    ['maxRentalTime', { maxRentalTime: '10s' }],
    ['budgetUsd', { budgetUsd: '0' }],
    ['rpm', { rpm: '0' }],
    ['tpm', { tpm: 'many' }],
  ] as const)('reports an invalid %s', (field, change) => {
    const made = parseKeyForm(fields(change), now);
    expect(Object.keys('problems' in made ? made.problems : {})).toEqual([field]);
  });
});

it('limitLines describes the limits', () => {
  expect(limitLines(noLimits)).toEqual([]);
  expect(
    limitLines({ ...noLimits, budget: { usd: 50, period: 'total' }, maxRentalSeconds: 3_600, rpm: 60 }),
  ).toEqual(['$50.00 in total', 'each rental up to 1 h', '60 requests per minute']);
});

it('keyState returns revoked, expired or active', () => {
  const at = (revokedAt: string | null, expiresAt: string | null) => keyState({ revokedAt, expiresAt }, now);
  expect(at(null, null)).toBe('active');
  expect(at(null, '2026-11-16T12:00:00Z')).toBe('expired');
  expect(at('2026-11-16T11:00:00Z', '2026-11-16T11:30:00Z')).toBe('revoked');
});

it('keySnippet calls an operation that any key may use, and the gateway only if there is one', () => {
  const urls = { api: 'https://api.example.com/', inference: 'https://ai.example.com' };
  expect(keySnippet(['rentals:read'], urls)).toBe(
    'read -rs MILLRACE_API_KEY  # paste the key, then press Enter\n' +
      `printf 'Authorization: Bearer %s' "$MILLRACE_API_KEY" | curl -fsS -H @- 'https://api.example.com/v2/me'`,
  );
  expect(keySnippet(['inference:read'], urls)).toContain("'https://ai.example.com/v1/models'");
  expect(keySnippet(['inference:read'], { ...urls, inference: null }).split('\n')).toHaveLength(2);
});
