import { SimulatedClock } from '@millrace/platform/clock';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { routerLimits } from './limits.ts';
import { createRouter } from './router.ts';
import {
  deploymentEntry,
  FakeEngines,
  modelEntry,
  silentLog,
  routeRequest,
  ground,
  callOf,
  viewOf,
  never,
  two,
  narrow,
} from './router-types.fixture.ts';
import type { Route, RouteRequest, UpstreamCall } from './router-types.ts';

const narrowOther = modelEntry([deploymentEntry('dep_n', { maxConcurrency: 1 })], 'narrow');

describe('Router.route', () => {
  it('counts a call at its deployment until its first end', () => {
    const { router } = ground();
    const call = callOf(router.route(two, routeRequest()));
    const { id } = call.deployment;
    expect(viewOf(router, two, id).inFlight).toBe(1);
    call.end('ok');
    call.end('ok');
    call.end('failed');
    expect(viewOf(router, two, id).inFlight).toBe(0);
  });

  it('chooses by prefix and organisation', () => {
    const many = modelEntry(Array.from({ length: 10 }, (_, index) => deploymentEntry(`dep_${index}`)));
    const { router } = ground();
    const go = (fields: Partial<RouteRequest>): string => {
      const call = callOf(router.route(many, routeRequest(fields)));
      call.end('ok');
      return call.deployment.id;
    };
    const long = 'x'.repeat(routerLimits.prefixChars);
    expect(go({ prefix: `${long}one` })).toBe(go({ prefix: `${long}two` }));
    const places = (field: 'orgId' | 'prefix'): number =>
      new Set(Array.from({ length: 100 }, (_, index) => go({ [field]: `${field} ${index}` }))).size;
    expect([places('orgId'), places('prefix')]).toEqual([10, 10]);
    // Gateways must agree, or engines could not reuse their prompt caches.
    const other = createRouter({
      ...{ clock: new SimulatedClock(), log: silentLog, gatewayId: 'gw_2', prober: new FakeEngines() },
    });
    expect(callOf(other.route(many, routeRequest())).deployment.id).toBe(go({}));
  });

  it('spreads requests without a prefix by weight', () => {
    const { router } = ground();
    const uneven = modelEntry([deploymentEntry('dep_a', { weight: 300 }), deploymentEntry('dep_b')]);
    let toA = 0;
    for (let request = 0; request < 2_000; request += 1) {
      const call = callOf(router.route(uneven, routeRequest({ prefix: '' })));
      if (call.deployment.id === 'dep_a') toA += 1;
      call.end('ok');
    }
    expect(Math.abs(toA / 2_000 - 0.75)).toBeLessThan(0.06);
  });

  it('follows the entry that is passed and keeps the state of unchanged deployments', () => {
    const { router } = ground();
    const call = callOf(router.route(narrow, routeRequest()));
    const wider = modelEntry([
      deploymentEntry('dep_a', { maxConcurrency: 2 }),
      deploymentEntry('dep_b', { weight: 0 }),
    ]);
    expect(router.route(narrow, routeRequest()).outcome).toBe('full');
    const second = callOf(router.route(wider, routeRequest()));
    expect(viewOf(router, wider, 'dep_a').inFlight).toBe(2);
    expect(router.route(wider, routeRequest()).outcome).toBe('full');
    expect(router.route(narrow, routeRequest()).outcome).toBe('full');
    call.end('ok');
    second.end('ok');
    expect(viewOf(router, narrow, 'dep_a').inFlight).toBe(0);
  });

  it('returns none with a retry time for a model without deployments or with all breakers open', async () => {
    const { router, clock } = ground();
    expect(router.route(modelEntry([]), routeRequest())).toEqual({ outcome: 'none', retryAfterMs: 1_000 });
    for (let failure = 0; failure < routerLimits.breaker.failuresInRow; failure += 1) {
      callOf(router.route(narrow, routeRequest())).end('failed');
    }
    expect(router.isUp(narrow)).toBe(false);
    expect(router.route(narrow, routeRequest())).toEqual({ outcome: 'none', retryAfterMs: 2_000 });
    await clock.advance(routerLimits.breaker.firstPauseMs);
    expect(router.isUp(narrow)).toBe(true);
    const trial = callOf(router.route(narrow, routeRequest()));
    expect(router.route(narrow, routeRequest()).outcome).toBe('full');
    trial.end('ok');
    expect(viewOf(router, narrow, 'dep_a').breaker).toBe('closed');
    router.close();
  });

  it('admits other requests after the first byte of a half-open trial', async () => {
    const { router, clock } = ground();
    const model = modelEntry([deploymentEntry('dep_a')]);
    for (let failure = 0; failure < routerLimits.breaker.failuresInRow; failure += 1) {
      callOf(router.route(model, routeRequest())).end('failed');
    }
    await clock.advance(routerLimits.breaker.firstPauseMs);
    const trial = callOf(router.route(model, routeRequest()));
    expect(router.route(model, routeRequest()).outcome).toBe('full');
    const waiting = router.waitForTurn(model, routeRequest(), never);
    trial.firstByte();
    expect(viewOf(router, model, 'dep_a').breaker).toBe('closed');
    callOf(await waiting).end('ok');
    callOf(router.route(model, routeRequest())).end('ok');
    // The end of the stream counts as one failure of a closed breaker.
    trial.end('failed');
    expect(viewOf(router, model, 'dep_a')).toMatchObject({ breaker: 'closed', inFlight: 0 });
    router.close();
  });

  it('pauses an engine that says it is full', async () => {
    const { router, clock } = ground();
    const first = callOf(router.route(two, routeRequest()));
    first.end('overloaded');
    const second = callOf(router.route(two, routeRequest()));
    expect(second.deployment.id).not.toBe(first.deployment.id);
    second.end('ok');
    await clock.advance(1_000);
    expect(callOf(router.route(two, routeRequest())).deployment.id).toBe(first.deployment.id);
    router.close();
  });

  it('measures first token time and throughput, and discards old measurements', async () => {
    const { router, clock } = ground();
    const call = callOf(router.route(two, routeRequest()));
    const { id } = call.deployment;
    await clock.advance(40);
    call.firstByte();
    await clock.advance(500);
    call.firstByte();
    call.end('ok', 100);
    expect(viewOf(router, two, id)).toMatchObject({ firstTokenMs: 40, tokensPerSecond: 200 });
    await clock.advance(routerLimits.measuresLastMs - 500);
    expect(viewOf(router, two, id)).toMatchObject({ firstTokenMs: 40, tokensPerSecond: 200 });
    await clock.advance(501);
    expect(viewOf(router, two, id)).toMatchObject({ firstTokenMs: null, tokensPerSecond: null });
    router.close();
  });
});

describe('Router under random events', () => {
  const step = fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({ kind: fc.constant('ask' as const), org: fc.nat(3), prefix: fc.nat(2) }),
    },
    {
      weight: 5,
      arbitrary: fc.record({
        kind: fc.constant('end' as const),
        which: fc.nat(),
        outcome: fc.constantFrom(
          'ok' as const,
          'failed' as const,
          'overloaded' as const,
          'cancelled' as const,
        ),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('leave' as const), which: fc.nat() }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: fc.nat(3_000) }) },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant('health' as const),
        id: fc.constantFrom('dep_0', 'dep_1', 'dep_2'),
        health: fc.constantFrom(200 as const, 'refused' as const, 'silent' as const),
      }),
    },
  );

  it('keeps concurrency limits, skips open breakers and resolves every waiting request', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 120 }), async (script) => {
        const { router, clock, engines } = ground({
          line: { maxWaiting: 5, maxWaitingPerOrganisation: 3, maxWaitMs: 10_000 },
        });
        const model = modelEntry(
          [0, 1, 2].map((at) => deploymentEntry(`dep_${at}`, { maxConcurrency: at + 1 })),
        );
        const calls: UpstreamCall[] = [];
        const clients: AbortController[] = [];
        let inLine = 0;
        const arrived = (route: Route): void => {
          if (route.outcome === 'to') calls.push(route);
          else expect(route.retryAfterMs).toBeGreaterThanOrEqual(1_000);
        };
        const check = (): void => {
          for (const view of router.views(model)) {
            const own = calls.filter(({ deployment }) => deployment.id === view.entry.id).length;
            expect(view.inFlight).toBeLessThanOrEqual(view.entry.maxConcurrency ?? 0);
            expect(own).toBeLessThanOrEqual(view.inFlight);
          }
        };
        for (const move of script) {
          switch (move.kind) {
            case 'ask': {
              const request = routeRequest({ orgId: `org_${move.org}`, prefix: `p${move.prefix}` });
              const open = new Set(
                router
                  .views(model)
                  .flatMap(({ entry, breaker, health }) =>
                    breaker === 'open' || health === 'down' ? [entry.id] : [],
                  ),
              );
              const route = router.route(model, request);
              if (route.outcome === 'to') expect(open).not.toContain(route.deployment.id);
              if (route.outcome !== 'full') {
                arrived(route);
                break;
              }
              const client = new AbortController();
              clients.push(client);
              inLine += 1;
              void router
                .waitForTurn(model, request, client.signal)
                .then(arrived, () => undefined)
                .finally(() => {
                  inLine -= 1;
                });
              break;
            }
            case 'end':
              calls.splice(move.which % Math.max(1, calls.length), 1)[0]?.end(move.outcome);
              break;
            case 'leave':
              clients[move.which % Math.max(1, clients.length)]?.abort(new Error('left'));
              break;
            case 'pass':
              await clock.advance(move.ms);
              break;
            case 'health':
              engines.health.set(move.id, move.health);
              break;
          }
          check();
        }
        await clock.advance(10_000);
        expect(inLine).toBe(0);
        for (const call of calls) call.end('ok');
        expect(router.views(model).map(({ inFlight }) => inFlight)).toEqual([0, 0, 0]);
        router.close();
        await clock.advance(10_000);
        expect(clock.sleeping).toBe(0);
      }),
      { numRuns: 150 },
    );
  });

  it('keeps retries within the model’s retry budget', async () => {
    const { router, clock } = ground({ retry: { shareOfRequests: 0.2, always: 2 } });
    for (let request = 0; request < 50; request += 1) callOf(router.route(two, routeRequest())).end('ok');
    let allowed = 0;
    for (let retry = 0; retry < 50; retry += 1) if (router.mayRetry(two)) allowed += 1;
    expect(allowed).toBe(10);
    // Another model has its own budget.
    expect([
      router.mayRetry(narrowOther),
      router.mayRetry(narrowOther),
      router.mayRetry(narrowOther),
    ]).toEqual([true, true, false]);
    await clock.advance(20_000);
    expect(router.mayRetry(two)).toBe(true);
    router.close();
  });

  it('removes unused deployments and adds them again on use', async () => {
    const { router, clock } = ground();
    const active = callOf(router.route(narrow, routeRequest()));
    const old = modelEntry([deploymentEntry('dep_z')], 'old');
    callOf(router.route(old, routeRequest())).end('ok');
    await clock.advance(700_000);
    // A new entry triggers the removal; deployments with calls in flight are kept.
    router.views(modelEntry([deploymentEntry('dep_y')], 'new'));
    const again = callOf(router.route(old, routeRequest()));
    const same = modelEntry([deploymentEntry('dep_z')], 'old');
    expect(router.views(same).map(({ inFlight }) => inFlight)).toEqual([1]);
    expect(router.views(old).map(({ inFlight }) => inFlight)).toEqual([1]);
    again.end('ok');
    expect(router.route(narrow, routeRequest()).outcome).toBe('full');
    active.end('ok');
    router.close();
  });
});
