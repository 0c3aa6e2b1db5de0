import { createContract, defaultProviders, type ApiKeyLimits } from '@millrace/contract';
import { isFault } from '@millrace/platform/fault';
import { nanoUsd } from '@millrace/platform/money';
import { testIds } from '@millrace/testing';
import { describe, expect, it } from 'vitest';
import type { FrozenPrice } from '../../prices/index.ts';
import {
  faultLabelsOf,
  simulateRejection,
  toBareMetalOrder,
  toVirtualMachineOrder,
  requireOrderAllowed,
  requireKeyLimits,
  requireWithinMaxUsd,
  resolveTtlSeconds,
  toRentalSpec,
  type ListPriceOrder,
} from './order.ts';
import { HOLD_WINDOW_MS } from '../../metering/index.ts';

const { operations } = createContract({ providers: defaultProviders });
const { body } = operations.createVirtualMachineRental;
const metalBody = operations.createBareMetalRental.body;
const order = (request: object = {}): ListPriceOrder =>
  toVirtualMachineOrder(body.parse({ gpuCount: 2, ...request }));

const price: FrozenPrice = {
  version: 1,
  product: 'rental',
  rateNanoUsdPerHour: '3600000000',
  originalNanoUsdPerHour: '3600000000',
  discountPpm: 0,
  quantity: 2,
  unitNanoUsdPerHour: '1800000000',
  reserve: null,
  priceIds: [],
  frozenAt: '2026-01-01T00:00:00.000Z',
};
const reserved: FrozenPrice = {
  ...price,
  reserve: {
    optionId: testIds.next('rso'),
    termPeriodDays: 30,
    committedNanoUsd: '2592000000000',
    refundPpm: 500_000,
    onDemandNanoUsdPerHour: '3600000000',
  },
};

const reasonOf = (work: () => unknown): string => {
  try {
    work();
    return 'accepted';
  } catch (error) {
    return isFault(error) ? error.reason : String(error);
  }
};

describe('toBareMetalOrder', () => {
  const metal = (request: object) =>
    toBareMetalOrder(metalBody.parse({ networkType: 'infiniband', gpuCount: 8, ...request }));

  it('orders whole nodes of eight GPUs with the requested CUDA version', () => {
    expect(metal({ gpuCount: 32, cudaVersion: 'cuda12.8' })).toMatchObject({
      kind: 'bare-metal',
      gpusPerNode: 8,
      nodeCount: 4,
      cuda: 1_208,
      connectionType: 'infiniband',
      customPorts: [],
    });
    expect(metal({})).toMatchObject({ nodeCount: 1, cuda: null, region: 'us-central-1', gpuType: 'h100' });
    expect(toRentalSpec(metal({ gpuCount: 32 }))).toMatchObject({ rentalType: 'bare-metal', gpuCount: 32 });
  });

  it('rejects part of a node', () => {
    expect(() => metal({ gpuCount: 12 })).toThrow();
  });
});

it('toVirtualMachineOrder applies the defaults of the interface', () => {
  expect(order()).toMatchObject({
    region: 'us-central-1',
    gpuType: 'h100',
    connectionType: 'ethernet',
    termType: 'on-demand',
    convertOnExpiry: true,
    monitoring: false,
    customPorts: [],
    sshKeys: 'all',
    ttlSeconds: null,
    maxUsd: null,
  });
  expect(toRentalSpec(order())).toEqual({
    rentalType: 'virtual-machine',
    gpuCount: 2,
    gpuType: 'h100',
    region: 'us-central-1',
    networkType: 'ethernet',
    termType: 'on-demand',
    discountPercentage: 0,
  });
});

it('HOLD_WINDOW_MS covers the first posting and 15 minutes more', () => {
  expect(HOLD_WINDOW_MS).toBe(75 * 60_000);
});

it.each([
  ['no-capacity', 'INSUFFICIENT_CAPACITY'],
  ['no-balance', 'INSUFFICIENT_BALANCE'],
] as const)(
  'simulateRejection rejects %s for test keys with %s, and never for live keys',
  (fault, reason) => {
    const tags = { 'millrace.fault': fault };
    expect(() => simulateRejection('test', tags)).toThrow(expect.objectContaining({ reason }));
    expect(() => simulateRejection('live', tags)).not.toThrow();
    expect(() => simulateRejection('test', { 'millrace.fault': 'boot-fails' })).not.toThrow();
    expect(() => simulateRejection('test', { 'millrace.fault': 'constructor' })).not.toThrow();
  },
);

it('faultLabelsOf passes fault tags only in test mode', () => {
  const tags = {
    'millrace.fault': 'flaky',
    'millrace.fault.every': '2',
    'millrace.faulty': 'no',
    'millrace.fault.': 'no',
    'millrace.fault.UPPER': 'no',
    'millrace.rental': '1',
  };
  expect(faultLabelsOf('test', tags)).toEqual({ 'millrace.fault': 'flaky', 'millrace.fault.every': '2' });
  expect(faultLabelsOf('live', tags)).toEqual({});
});

it.each([
  ['ubuntu-24.04', 'accepted'],
  ['registry.example/cuda:12.8', 'accepted'],
  ['../x', 'IMAGE_NOT_FOUND'],
  ['a//b', 'IMAGE_NOT_FOUND'],
  ['a b', 'IMAGE_NOT_FOUND'],
  ['-rf', 'IMAGE_NOT_FOUND'],
])('toVirtualMachineOrder with the image %j returns %s', (image, expected) => {
  expect(reasonOf(() => order({ image }))).toBe(expected);
});

it.each([
  ['#!/bin/sh\necho hi\n', '#!/bin/sh\necho hi\n'],
  ['#cloud-config\npackages: [git]\n', '#cloud-config\npackages: [git]\n'],
  ['', null],
  [' \n', null],
] as const)('toVirtualMachineOrder converts the user data %j to %j', (userData, taken) => {
  expect(order({ userData }).userData).toBe(taken);
});

it.each([
  'echo hi',
  ' #!/bin/sh',
  '#cloud-config',
  '#cloud-config-archive\n- {}',
  '#include\nhttps://example.com/x',
  'Content-Type: multipart/mixed; boundary="x"',
  '## template: jinja\n#cloud-config\n',
])('toVirtualMachineOrder rejects user data that no machine can start: %j', (userData) => {
  const refused = (): unknown => order({ userData });
  expect(reasonOf(refused)).toBe('VALIDATION_FAILED');
  expect(refused).toThrow(/userData must begin with #! .* or with a line #cloud-config/);
});

describe('resolveTtlSeconds', () => {
  const bounded = { maxRentalSeconds: 3_600 };
  it.each([
    ['returns null without TTL and limit', {}, { maxRentalSeconds: null }, null],
    ['returns the TTL without limit', { ttlSeconds: 60 }, { maxRentalSeconds: null }, 60],
    ['returns the limit without TTL', {}, bounded, 3_600],
    ['accepts a TTL at the limit', { ttlSeconds: 3_600 }, bounded, 3_600],
    ['rejects a TTL above the limit', { ttlSeconds: 3_601 }, bounded, 'KEY_LIMIT_EXCEEDED'],
    [
      'accepts a term at the limit',
      { termType: 'reserved', termPeriodDays: 1 },
      { maxRentalSeconds: 86_400 },
      86_400,
    ],
    [
      'rejects a term above the limit',
      { termType: 'reserved', termPeriodDays: 1 },
      { maxRentalSeconds: 86_399 },
      'KEY_LIMIT_EXCEEDED',
    ],
    ['ignores a term period of an on-demand order', { termPeriodDays: 1 }, bounded, 3_600],
  ] as const)('%s', (_, request, limits, expected) => {
    const ttl = (): number | null => resolveTtlSeconds(order(request), limits);
    if (typeof expected === 'string') expect(reasonOf(ttl)).toBe(expected);
    else expect(ttl()).toBe(expected);
  });
});

describe('requireKeyLimits', () => {
  const limits = (fields: Partial<ApiKeyLimits>) => ({
    maxLiveRentals: null,
    maxUsdPerHour: null,
    ...fields,
  });
  it.each([
    ['accepts the third of three rentals', { maxLiveRentals: 3 }, 2, 0n, 'accepted'],
    ['rejects the fourth of three rentals', { maxLiveRentals: 3 }, 3, 0n, 'KEY_LIMIT_EXCEEDED'],
    ['rejects every rental with a limit of 0', { maxLiveRentals: 0 }, 0, 0n, 'KEY_LIMIT_EXCEEDED'],
    ['accepts exactly the remaining hourly rate', { maxUsdPerHour: 4.6 }, 0, 1_000_000_000n, 'accepted'],
    ['rejects one nano-USD above it', { maxUsdPerHour: 4.6 }, 0, 1_000_000_001n, 'KEY_LIMIT_EXCEEDED'],
    ['rejects every rate with a limit of 0', { maxUsdPerHour: 0 }, 0, 0n, 'KEY_LIMIT_EXCEEDED'],
  ] as const)('%s', (_, fields, liveRentals, perHour, expected) => {
    const load = { liveRentals, perHour: nanoUsd(perHour) };
    expect(reasonOf(() => requireKeyLimits(limits(fields), load, price))).toBe(expected);
  });

  it('requireOrderAllowed checks regions and GPU types', () => {
    const anywhere = { regions: null, gpuTypes: null };
    expect(reasonOf(() => requireOrderAllowed(order(), anywhere))).toBe('accepted');
    expect(reasonOf(() => requireOrderAllowed(order(), { ...anywhere, regions: [] }))).toBe(
      'KEY_LIMIT_EXCEEDED',
    );
    expect(reasonOf(() => requireOrderAllowed(order(), { ...anywhere, gpuTypes: ['b200'] }))).toBe(
      'KEY_LIMIT_EXCEEDED',
    );
  });
});

describe('requireWithinMaxUsd', () => {
  it.each([
    ['accepts an order without maxUsd', {}, price, 'accepted'],
    ['accepts the cost of one minute', { maxUsd: 0.06 }, price, 'accepted'],
    ['rejects less than the cost of one minute', { maxUsd: 0.059_999_999 }, price, 'MAX_USD_EXCEEDED'],
    ['accepts the cost of the whole TTL', { maxUsd: 3.6, ttlSeconds: 3_600 }, price, 'accepted'],
    [
      'rejects less than the cost of the TTL',
      { maxUsd: 3.599_999_999, ttlSeconds: 3_600 },
      price,
      'MAX_USD_EXCEEDED',
    ],
    ['accepts the cost of the whole term', { maxUsd: 2_592 }, reserved, 'accepted'],
    ['rejects less than the cost of the term', { maxUsd: 2_591.999_999_999 }, reserved, 'MAX_USD_EXCEEDED'],
    [
      'accepts any maxUsd for a price of zero',
      { maxUsd: 0.000_000_001 },
      { ...price, rateNanoUsdPerHour: '0' },
      'accepted',
    ],
  ] as const)('%s', (_, request, sold, expected) => {
    const requested = order(request);
    expect(reasonOf(() => requireWithinMaxUsd(requested, requested.ttlSeconds, sold))).toBe(expected);
  });

  it('ignores a TTL that only the key sets, because the spending limit ends the rental first', () => {
    expect(reasonOf(() => requireWithinMaxUsd(order({ maxUsd: 1 }), 36_000, price))).toBe('accepted');
  });
});
