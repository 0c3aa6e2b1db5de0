import { ApiError, ConnectionError } from '@millrace/sdk';
import { describe, expect, it } from 'vitest';
import { attemptFor, randomBelowFrom } from './idempotency.ts';
import { findBlockers, isRejection, fixForReason, type Quote, type BlockerContext } from './blockers.ts';
import type { Budget } from '../money/budgets.ts';
import { hourlyPriceLines, summaryLines, termsFor, type SpendingLimits } from './summary.ts';
import { mayBecomeAvailable, mainObstacle } from '../catalog/placement-obstacles.ts';

const quote: Quote = {
  costPerHour: 2.49,
  costPerHourNanoUsd: '2490000000',
  originalCostPerHour: 2.49,
  discountPercentage: 0,
  costPerSecondNanoUsd: '691667',
  lines: [{ kind: 'gpu', description: '1 × h100', costPerHourNanoUsd: '2490000000' }],
  minimumBalanceNanoUsd: '200000000',
  holdNanoUsd: '200000000',
  totalNanoUsd: null,
  term: null,
  released: { diskGb: 500, costPerHourNanoUsd: '68500000' },
  runwaySeconds: 7_200,
  available: true,
  idleRules: true,
  affordable: true,
  validUntil: '2026-08-01T00:00:00.000Z',
};

const budget: Budget = {
  id: 'bdg_1' as Budget['id'],
  name: 'August',
  keyId: null,
  period: 'month',
  limitNanoUsd: '1000000000',
  spentNanoUsd: '900000000',
  periodStart: '2026-08-01T00:00:00.000Z',
  periodEnd: null,
  thresholdsPercent: [],
  onExceeded: 'stop_new_work',
  createdAt: '2026-08-01T00:00:00.000Z',
};

const fine: BlockerContext = {
  mayNot: false,
  isSuspended: false,
  isFrozen: false,
  spec: {
    gpu: 'h100',
    type: 'virtual-machine',
    count: 1,
    region: 'us-central-1',
    network: 'ethernet',
    days: null,
  },
  issues: {},
  keysChosen: 1,
  priced: { state: 'told', quote },
  availableNanoUsd: '5000000000',
  budgets: [],
  maxNanoUsd: null,
  ttlSeconds: null,
};
const quoted = (change: Partial<Quote>): Partial<BlockerContext> => ({
  priced: { state: 'told', quote: { ...quote, ...change } },
});
const why = (change: Partial<BlockerContext>) => findBlockers({ ...fine, ...change });

describe('findBlockers', () => {
  it('returns none when every rule is met', () => {
    expect(why({})).toEqual([]);
  });

  it.each<[string, Partial<BlockerContext>, string, string | null]>([
    ['a missing scope', { mayNot: 'Your role is viewer.' }, 'Your role is viewer.', 'team'],
    ['a suspended organisation', { isSuspended: true }, 'suspended', null],
    ['frozen money', { isFrozen: true }, 'frozen', null],
    ['an invalid field', { issues: { ttl: 'At least a minute.' } }, 'Time to live: At least a minute.', null],
    ['no SSH key', { keysChosen: 0 }, 'SSH key', 'ssh-key'],
    ['keys that are still loading', { keysChosen: null }, 'SSH keys…', null],
    ['a quote that is still loading', { priced: { state: 'waiting' } }, 'Getting the price', null],
    [
      'a rejected quote',
      { priced: { state: 'refused', message: 'No price.', reason: 'PRICE_NOT_AVAILABLE' } },
      'No price.',
      'catalog',
    ],
    ['no capacity', quoted({ available: false }), 'No capacity right now', 'alternatives'],
    [
      'too little balance',
      quoted({ affordable: false }),
      'You need $0.20 to start, and have $5.00.',
      'top-up',
    ],
    [
      'a used-up budget',
      { budgets: [budget] },
      'The budget "August" has $0.10 left, but $0.20 must be held.',
      'budgets',
    ],
  ])('reports %s with a fix', (_, change, text, step) => {
    const [first, ...others] = why(change);
    expect(others).toEqual([]);
    expect(first?.why).toContain(text);
    expect(first?.step).toBe(step);
  });

  it('reports only the GPU count when no quote can be requested', () => {
    const spec = { ...fine.spec, type: 'bare-metal' as const, count: 9 };
    expect(why({ spec, priced: { state: 'waiting' } })).toHaveLength(1);
  });

  it('returns all blockers at once, the most important first', () => {
    const both = why({ mayNot: 'No.', keysChosen: 0, ...quoted({ available: false, affordable: false }) });
    expect(both.map(({ step }) => step)).toEqual(['team', 'ssh-key', 'alternatives', 'top-up']);
  });

  it('does not state an unknown balance', () => {
    const [first] = why({ ...quoted({ affordable: false }), availableNanoUsd: null });
    expect(first?.why).toBe('You need $0.20 to start.');
  });

  it('ignores budgets that only notify, apply to one key, or have just enough left', () => {
    const harmless: readonly Partial<Budget>[] = [
      { onExceeded: 'notify' },
      { keyId: 'key_1' as Budget['keyId'] },
      { spentNanoUsd: '800000000' },
    ];
    for (const change of harmless) expect(why({ budgets: [{ ...budget, ...change }] })).toEqual([]);
    expect(why({ budgets: [budget], ...quoted({ holdNanoUsd: '0' }) })).toEqual([]);
    const over = why({ budgets: [{ ...budget, spentNanoUsd: '1500000000' }] });
    expect(over[0]?.why).toContain('has $0.00 left');
  });

  it('reports a spending limit below the known cost', () => {
    const term = {
      termPeriodDays: 30,
      committedNanoUsd: '1000000001',
      earlyTerminationRefundPercentage: 50,
      onDemandCostPerHourNanoUsd: '2490000000',
    };
    expect(why({ maxNanoUsd: 1_000_000_000n, ...quoted({ term }) })).toHaveLength(1);
    expect(why({ maxNanoUsd: 1_000_000_001n, ...quoted({ term }) })).toEqual([]);
    const total = quoted({ totalNanoUsd: '1000000001' });
    expect(why({ maxNanoUsd: 1_000_000_000n, ttlSeconds: 60, ...total })).toHaveLength(1);
    // Without a TTL, the limit itself ends the rental.
    expect(why({ maxNanoUsd: 1n })).toEqual([]);
  });
});

describe('refusals', () => {
  it('are distinguished from failures after which the rental may exist', () => {
    const response = (status: number) =>
      new ApiError({
        status,
        headers: new Headers(),
        message: 'No.',
        reason: null,
        suggestion: null,
        requestId: null,
        docUrl: null,
        issues: [],
        body: null,
      });
    expect(isRejection(response(400))).toBe(true);
    expect(isRejection(response(503))).toBe(false);
    expect(isRejection(new ConnectionError('gone'))).toBe(false);
    expect(isRejection(null)).toBe(false);
  });

  it('map to a fix', () => {
    expect(fixForReason('INSUFFICIENT_BALANCE')).toBe('top-up');
    expect(fixForReason('NO_PUBLIC_KEY')).toBe('ssh-key');
    expect(fixForReason('INSUFFICIENT_CAPACITY')).toBe('alternatives');
    expect(fixForReason('toString')).toBeNull();
    expect(fixForReason(null)).toBeNull();
  });

  it('describe the obstacle that the closest hosts met', () => {
    const obstacles = [
      { code: 'NODE_DRAINING', message: 'These hosts accept no new rentals.', nodeCount: 1 },
      { code: 'NO_FREE_GPUS', message: 'Their GPUs are taken.', nodeCount: 11 },
    ];
    expect(mainObstacle({ placeable: false, nodesConsidered: 12, obstacles })).toBe(
      'Checked 12 hosts; the closest match (11) was rejected: Their GPUs are taken.',
    );
    expect(mayBecomeAvailable({ obstacles })).toBe(true);
    const nowhere = [{ code: 'NO_NODES_IN_REGION', message: 'There are no hosts.', nodeCount: 0 }];
    expect(mainObstacle({ placeable: false, nodesConsidered: 0, obstacles: nowhere })).toBe(
      'There are no hosts.',
    );
    expect(mayBecomeAvailable({ obstacles: nowhere })).toBe(false);
    expect(mainObstacle({ placeable: false, nodesConsidered: 3, obstacles: [] })).toContain('No capacity');
    expect(mainObstacle({ placeable: true, nodesConsidered: 3, obstacles: [] })).toContain('Available');
  });
});

const limits: SpendingLimits = {
  availableNanoUsd: '5000000000',
  ttlSeconds: null,
  maxNanoUsd: null,
  convert: true,
};
const lineOf = (label: string, change: Partial<Quote> = {}, of: Partial<SpendingLimits> = {}) =>
  summaryLines({ ...quote, ...change }, { ...limits, ...of }).find((line) => line.label === label);

describe('rental summary', () => {
  it('has lines that add up to the price, to the nano-USD', () => {
    const lines = [
      { kind: 'gpu' as const, description: '1 × h100', costPerHourNanoUsd: '2490000003' },
      { kind: 'discount' as const, description: '10 % off', costPerHourNanoUsd: '-249000000' },
      { kind: 'storage' as const, description: '256 GB of storage', costPerHourNanoUsd: '7' },
    ];
    const sum = hourlyPriceLines({ ...quote, lines }).reduce(
      (total, { value }) => total + (typeof value === 'string' ? 0n : value.nano),
      0n,
    );
    expect(sum).toBe(2_241_000_010n);
  });

  it('shows the amounts of live mode beside those of test mode, but not for the own limit', () => {
    const { lines, released, totalNanoUsd, minimumBalanceNanoUsd, term } = quote;
    const live = {
      ...{ costPerHourNanoUsd: '2490000000', lines, released, totalNanoUsd, minimumBalanceNanoUsd, term },
    };
    const free = {
      live,
      costPerHourNanoUsd: '0',
      minimumBalanceNanoUsd: '0',
      lines: lines.map((line) => ({ ...line, costPerHourNanoUsd: '0' })),
      released: { diskGb: 500, costPerHourNanoUsd: '0' },
    };
    expect(hourlyPriceLines({ ...quote, ...free })).toMatchObject([
      { value: { nano: 0n }, live: { nano: 2_490_000_000n, unit: '/h' } },
    ]);
    expect(lineOf('Required balance', free)).toMatchObject({
      value: { nano: 0n },
      live: { nano: 200_000_000n, unit: '' },
    });
    expect(lineOf('Stopped, GPUs released', free)?.live).toEqual({ nano: 68_500_000n, unit: '/h' });
    expect(lineOf('Spending limit', free, { maxNanoUsd: 5n })).not.toHaveProperty('live');
    expect(lineOf('Required balance')).not.toHaveProperty('live');
  });

  it('shows the cost while stopped, with GPUs kept and released', () => {
    expect(lineOf('Stopped, GPUs kept')?.value).toEqual({ nano: 2_490_000_000n, unit: '/h' });
    expect(lineOf('Stopped, GPUs released')?.value).toEqual({ nano: 68_500_000n, unit: '/h' });
    expect(lineOf('Stopped, GPUs released', { released: null })).toBeUndefined();
    const volume = { kind: 'storage', description: '256 GB', costPerHourNanoUsd: '35072000' } as const;
    const beside = /new volume is billed/;
    expect(lineOf('Stopped, GPUs released')?.note).not.toMatch(beside);
    expect(lineOf('Stopped, GPUs released', { lines: [volume] })?.note).toMatch(beside);
  });

  it('shows the required balance, the rest and the runway', () => {
    expect(lineOf('Required balance')?.value).toEqual({ nano: 200_000_000n, unit: '' });
    expect(lineOf('Available after start')?.value).toEqual({ nano: 4_800_000_000n, unit: '' });
    expect(lineOf('Available after start', { affordable: false })).toBeUndefined();
    expect(lineOf('Runway')?.value).toBe('2 h');
    expect(lineOf('Runway', { affordable: false })).toBeUndefined();
    expect(lineOf('Runway', { runwaySeconds: null })?.value).toBe('unlimited');
    expect(lineOf('Available now', {}, { availableNanoUsd: null })).toBeUndefined();
  });

  it('shows the commitment of a term, its refund and what follows', () => {
    const term = {
      termPeriodDays: 30,
      committedNanoUsd: '1613520000000',
      earlyTerminationRefundPercentage: 50,
      onDemandCostPerHourNanoUsd: '2490000000',
    };
    expect(lineOf('Commitment')?.value).toBe('none');
    expect(lineOf('Commitment for 30 days', { term })).toEqual({
      label: 'Commitment for 30 days',
      value: { nano: 1_613_520_000_000n, unit: '' },
      note: 'If you terminate early, you get 50 % of the rest back.',
    });
    expect(lineOf('After the term', { term })?.value).toEqual({ nano: 2_490_000_000n, unit: '/h' });
    expect(lineOf('After the term', { term }, { convert: false })?.value).toBe('terminates');
  });

  it('shows the cost of a TTL, and the spending limit', () => {
    expect(lineOf('For 8 h', { totalNanoUsd: '19920000000' }, { ttlSeconds: 28_800 })?.value).toEqual({
      nano: 19_920_000_000n,
      unit: '',
    });
    expect(lineOf('Spending limit', {}, { maxNanoUsd: 5n })?.value).toEqual({ nano: 5n, unit: '' });
  });
});

describe('terms', () => {
  const option = (
    termPeriodDays: number,
    region: string | null,
    discountPercentage: number,
    enabled = true,
  ) => ({
    machineType: 'virtual-machine',
    gpuType: 'h100',
    region,
    termPeriodDays,
    discountPercentage,
    earlyTerminationRefundPercentage: 50,
    enabled,
  });

  it('are those of the machine and region, regional before global, shortest first', () => {
    const options = [
      option(30, null, 10),
      option(30, 'us-central-1', 12),
      option(7, null, 5),
      option(7, null, 4),
      option(90, 'eu-west-1', 30),
      option(365, null, 40, false),
      { ...option(14, null, 8), gpuType: 'h200' },
    ];
    expect(
      termsFor(options, fine.spec).map(({ days, discountPercentage }) => [days, discountPercentage]),
    ).toEqual([
      [7, 5],
      [30, 12],
    ]);
  });
});

describe('attemptFor', () => {
  const keys = ['one', 'two', 'three'];
  it('keeps the idempotency key while the order is unchanged, and changes it with the order', () => {
    let index = 0;
    const newKey = () => keys[index++] ?? '';
    const first = attemptFor(null, { count: 1 }, newKey);
    expect(attemptFor(first, { count: 1 }, newKey)).toBe(first);
    const other = attemptFor(first, { count: 2 }, newKey);
    expect(other.key).toBe('two');
    // The user saw the outcome of the first order, so the same order now is a new one.
    expect(attemptFor(other, { count: 1 }, newKey).key).toBe('three');
  });

  it('gets a random name', () => {
    expect(randomBelowFrom(() => 4_294_967_295)(10)).toBe(5);
    expect(randomBelowFrom(() => 3)(10)).toBe(3);
  });
});
