import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chooseDeployment, NO_CAPACITY, NO_DEPLOYMENT, type Candidate } from './choose-deployment.ts';
import { hashText, mix32 } from './hash.ts';
import { routerLimits } from './limits.ts';
import { candidate } from './router-types.fixture.ts';
import type { RoutePreference } from './router-types.ts';

const limits = routerLimits.choice;
const none: ReadonlySet<string> = new Set();
const byAffinity = { by: 'affinity', except: none } as const;

const ids = fc.uniqueArray(
  fc.integer({ min: 0, max: 1_000_000 }).map((value) => `dep_${value}`),
  { minLength: 2, maxLength: 12 },
);
const keys = fc.integer({ min: 0, max: 2 ** 32 - 1 });

function idAt(candidates: readonly Candidate[], index: number): string | undefined {
  return candidates[index]?.entry.id;
}

function affinity(candidates: readonly Candidate[], key: number): string | undefined {
  return idAt(candidates, chooseDeployment(candidates, key, byAffinity, limits));
}

describe('chooseDeployment by affinity', () => {
  it('chooses the same deployment for equal prefixes, whatever the order of the list', () => {
    fc.assert(
      fc.property(ids, keys, (names, key) => {
        const candidates = names.map((id) => candidate(id));
        expect(affinity(candidates, key)).toBe(affinity(candidates.toReversed(), key));
      }),
    );
  });

  it('moves only the keys of a removed deployment and returns them when it is added again', () => {
    fc.assert(
      fc.property(ids, fc.nat(), fc.array(keys, { minLength: 50, maxLength: 50 }), (names, pick, some) => {
        const all = names.map((id) => candidate(id));
        const removed = names[pick % names.length];
        const left = all.filter(({ entry }) => entry.id !== removed);
        for (const key of some) {
          const before = affinity(all, key);
          if (before === removed) expect(affinity(left, key)).not.toBe(removed);
          else expect(affinity(left, key)).toBe(before);
        }
      }),
    );
  });

  it('skips deployments that are down, open, excepted, saturated or without weight', () => {
    const ways: ((id: string) => Candidate)[] = [
      (id) => candidate(id, {}, { health: 'down' }),
      (id) => candidate(id, {}, { breaker: 'open' }),
      (id) => candidate(id, {}, { breaker: 'half-open', isOnTrial: true }),
      (id) => candidate(id, {}, { isSaturated: true }),
      (id) => candidate(id, {}, { waiting: limits.maxEngineWaiting }),
      (id) => candidate(id, { weight: 0 }),
      (id) => candidate(id, { maxConcurrency: 3 }, { inFlight: 2, others: 1 }),
    ];
    fc.assert(
      fc.property(ids, fc.nat(), keys, fc.constantFrom(...ways), (names, pick, key, troubled) => {
        const removed = names[pick % names.length];
        const left = names.filter((id) => id !== removed).map((id) => candidate(id));
        const all = names.map((id) => (id === removed ? troubled(id) : candidate(id)));
        expect(affinity(all, key)).toBe(affinity(left, key));
      }),
    );
    const except = new Set(['dep_a']);
    const both = [candidate('dep_a'), candidate('dep_b')];
    for (let key = 0; key < 100; key += 1) {
      expect(idAt(both, chooseDeployment(both, mix32(key), { by: 'affinity', except }, limits))).toBe(
        'dep_b',
      );
    }
  });

  it('gives each deployment its share by weight, within statistical error', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.nat(1_000_000), { minLength: 2, maxLength: 8 }),
        fc.array(fc.integer({ min: 1, max: 10 }), { minLength: 8, maxLength: 8 }),
        fc.nat(),
        (numbers, weights, seed) => {
          const all = numbers.map((value, at) =>
            candidate(`dep_${value}`, { weight: (weights[at] ?? 1) * 100 }),
          );
          const sum = all.reduce((total, { entry }) => total + entry.weight, 0);
          const draws = 4_000;
          const counts = new Map<string, number>();
          for (let draw = 0; draw < draws; draw += 1) {
            const id = affinity(all, hashText(`org ${seed} prompt ${draw}`)) ?? '';
            counts.set(id, (counts.get(id) ?? 0) + 1);
          }
          for (const { entry } of all) {
            const expected = entry.weight / sum;
            // Six standard deviations of a binomial: a fair draw misses it once in half a billion.
            const allowed = 6 * Math.sqrt((expected * (1 - expected)) / draws);
            expect(Math.abs((counts.get(entry.id) ?? 0) / draws - expected)).toBeLessThan(allowed);
          }
        },
      ),
      { numRuns: 30 },
    );
  });
});

describe('chooseDeployment with bounded load', () => {
  interface Busy {
    inFlight: number;
    others: number;
  }

  it('keeps every deployment within its share when few prefixes get most requests', () => {
    fc.assert(
      fc.property(
        ids,
        fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 12, maxLength: 12 }),
        // Only four keys, to simulate popular prefixes.
        fc.array(fc.record({ key: fc.integer({ min: 0, max: 3 }), ends: fc.boolean() }), { maxLength: 400 }),
        (names, weights, steps) => {
          const busy: Busy[] = names.map(() => ({ inFlight: 0, others: 0 }));
          const all = names.map((id, at) =>
            Object.assign(candidate(id, { weight: weights[at] ?? 1 }), {
              state: Object.assign(candidate(id).state, busy[at]),
            }),
          );
          const sum = all.reduce((total, { entry }) => total + entry.weight, 0);
          let load = 0;
          for (const { key, ends } of steps) {
            const index = chooseDeployment(all, mix32(key), byAffinity, limits);
            const chosen = all[index];
            if (chosen === undefined) throw new Error('No deployment had capacity.');
            const state = chosen.state as Busy;
            load += 1;
            const bound = Math.max(
              limits.freeLoad,
              Math.ceil((limits.loadFactor * load * chosen.entry.weight) / sum),
            );
            state.inFlight += 1;
            expect(state.inFlight).toBeLessThanOrEqual(bound);
            if (ends) {
              state.inFlight -= 1;
              load -= 1;
            }
          }
        },
      ),
    );
  });

  it('overflows to the second choice of the same key, and returns when load falls', () => {
    const names = ['dep_a', 'dep_b', 'dep_c', 'dep_d'];
    for (let key = 0; key < 200; key += 1) {
      const idle = names.map((id) => candidate(id));
      const first = affinity(idle, mix32(key));
      const second = affinity(
        idle.filter(({ entry }) => entry.id !== first),
        mix32(key),
      );
      const busy = names.map((id) => candidate(id, {}, { inFlight: id === first ? 50 : 0 }));
      expect(affinity(busy, mix32(key))).toBe(second);
    }
  });

  it('counts the load of other gateways as the engine reports it', () => {
    for (let key = 0; key < 100; key += 1) {
      const all = [candidate('dep_a', {}, { others: 40 }), candidate('dep_b')];
      expect(affinity(all, mix32(key))).toBe('dep_b');
    }
  });

  it('prefers engines without waiting requests, then the least loaded one', () => {
    for (let key = 0; key < 100; key += 1) {
      const one = [candidate('dep_a', {}, { waiting: 1, others: 1 }), candidate('dep_b', {}, { others: 3 })];
      expect(affinity(one, mix32(key))).toBe('dep_b');
      const all = [
        candidate('dep_a', {}, { waiting: 5, others: 20 }),
        candidate('dep_b', {}, { waiting: 1, others: 10 }),
      ];
      expect(affinity(all, mix32(key))).toBe('dep_b');
    }
  });
});

describe('chooseDeployment exclusions', () => {
  const anyCandidate = fc
    .record({
      id: fc.nat(1_000_000),
      weight: fc.integer({ min: 0, max: 3 }),
      maxConcurrency: fc.option(fc.integer({ min: 1, max: 4 })),
      inFlight: fc.nat(5),
      others: fc.nat(5),
      waiting: fc.constantFrom(0, 1, limits.maxEngineWaiting),
      isSaturated: fc.boolean(),
      health: fc.constantFrom('unknown' as const, 'healthy' as const, 'degraded' as const, 'down' as const),
      breaker: fc.constantFrom('closed' as const, 'half-open' as const, 'open' as const),
      onTrial: fc.boolean(),
      firstTokenMs: fc.option(fc.nat(500)),
      tokensPerSecond: fc.option(fc.nat(500)),
    })
    .map(({ id, weight, maxConcurrency, onTrial, ...state }) =>
      candidate(
        `dep_${id}`,
        { weight, maxConcurrency },
        { ...state, isOnTrial: onTrial && state.breaker === 'half-open' },
      ),
    );
  const orders = fc.constantFrom<RoutePreference>('affinity', 'price', 'latency', 'throughput');

  it('never chooses a deployment that is open, down, full, excepted or disabled, and returns none only if none is usable', () => {
    fc.assert(
      fc.property(
        fc.array(anyCandidate, { maxLength: 6 }),
        keys,
        orders,
        fc.nat(6),
        (all, key, by, exceptAt) => {
          const except = new Set(all.slice(0, exceptAt % 3).map(({ entry }) => entry.id));
          const usable = all.filter(
            ({ entry, state }) =>
              entry.weight > 0 &&
              state.health !== 'down' &&
              state.breaker !== 'open' &&
              !except.has(entry.id),
          );
          const roomy = usable.filter(
            ({ entry, state }) =>
              !state.isSaturated &&
              !state.isOnTrial &&
              state.waiting < limits.maxEngineWaiting &&
              state.inFlight + state.others < (entry.maxConcurrency ?? Infinity),
          );
          const index = chooseDeployment(all, key, { by, except }, limits, ({ id }) =>
            BigInt(hashText(id) % 3),
          );
          if (usable.length === 0) expect(index).toBe(NO_DEPLOYMENT);
          else if (roomy.length === 0) expect(index).toBe(NO_CAPACITY);
          else expect(roomy).toContain(all[index]);
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it('never chooses a degraded deployment while another has capacity', () => {
    for (let key = 0; key < 100; key += 1) {
      const all = [
        candidate('dep_a', {}, { health: 'degraded' }),
        candidate('dep_b', { maxConcurrency: 20 }, { inFlight: 19 }),
      ];
      expect(affinity(all, mix32(key))).toBe('dep_b');
    }
    const full = [
      candidate('dep_a', {}, { health: 'degraded' }),
      candidate('dep_b', { maxConcurrency: 2 }, { inFlight: 2 }),
    ];
    expect(affinity(full, 1)).toBe('dep_a');
  });
});

describe('chooseDeployment by preference', () => {
  const pick = (all: readonly Candidate[], by: RoutePreference, key = 7): string | undefined =>
    idAt(
      all,
      chooseDeployment(all, key, { by, except: none }, limits, ({ region }) => BigInt(region)),
    );

  it('by price chooses the cheapest with capacity, and the less loaded of equal prices', () => {
    const cheapBusy = [
      candidate('dep_a', { region: '100', maxConcurrency: 30 }, { inFlight: 29 }),
      candidate('dep_b', { region: '200' }),
    ];
    expect(pick(cheapBusy, 'price')).toBe('dep_a');
    const cheapFull = [
      candidate('dep_a', { region: '100', maxConcurrency: 30 }, { inFlight: 30 }),
      candidate('dep_b', { region: '200' }),
    ];
    expect(pick(cheapFull, 'price')).toBe('dep_b');
    for (let key = 0; key < 50; key += 1) {
      const equal = [
        candidate('dep_a', { region: '1' }, { inFlight: 30 }),
        candidate('dep_b', { region: '1' }),
      ];
      expect(pick(equal, 'price', mix32(key))).toBe('dep_b');
    }
  });

  it('by latency chooses the fastest first token, measures an unmeasured one once and keeps its bounded load', () => {
    const all = [
      candidate('dep_a', {}, { firstTokenMs: 80 }),
      candidate('dep_b', {}, { firstTokenMs: 30 }),
      candidate('dep_c', {}, { firstTokenMs: 55 }),
    ];
    expect(pick(all, 'latency')).toBe('dep_b');
    expect(pick([...all, candidate('dep_d')], 'latency')).toBe('dep_d');
    expect(pick([...all, candidate('dep_d', {}, { inFlight: 1 })], 'latency')).toBe('dep_b');
    const overrun = [candidate('dep_b', {}, { firstTokenMs: 30, inFlight: 20 }), ...all.slice(0, 1)];
    expect(pick(overrun, 'latency')).toBe('dep_a');
  });

  it('by throughput chooses the fastest output and measures an unmeasured deployment once', () => {
    const all = [
      candidate('dep_a', {}, { tokensPerSecond: 80 }),
      candidate('dep_b', {}, { tokensPerSecond: 300 }),
    ];
    expect(pick(all, 'throughput')).toBe('dep_b');
    expect(pick([...all, candidate('dep_c')], 'throughput')).toBe('dep_c');
    expect(pick([...all, candidate('dep_c', {}, { inFlight: 1 })], 'throughput')).toBe('dep_b');
  });
});
