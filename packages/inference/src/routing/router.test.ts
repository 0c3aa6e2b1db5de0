import { SimulatedClock } from '@millrace/platform/clock';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { routerLimits, type RouterLimits } from './limits.ts';
import { createRouter } from './router.ts';
import {
  deploymentEntry,
  FakeEngines,
  llamaMetrics,
  modelEntry,
  silentLog,
  routeRequest,
} from './router-types.fixture.ts';
import type { DeploymentView, Route, Router, RouteRequest, UpstreamCall } from './router-types.ts';

interface Ground {
  readonly clock: SimulatedClock;
  readonly engines: FakeEngines;
  readonly router: Router;
}

function ground(limits: Partial<RouterLimits> = {}): Ground {
  const clock = new SimulatedClock();
  const engines = new FakeEngines();
  const router = createRouter({ clock, log: silentLog, gatewayId: 'gw_1', prober: engines, limits });
  return { clock, engines, router };
}

function callOf(route: Route): UpstreamCall {
  if (route.outcome !== 'to') throw new Error(`Expected an upstream call, got ${route.outcome}.`);
  return route;
}

function viewOf(router: Router, model: ReturnType<typeof modelEntry>, id: string): DeploymentView {
  const view = router.views(model).find(({ entry }) => entry.id === id);
  if (view === undefined) throw new Error(`The router has no view of ${id}.`);
  return view;
}

const never = new AbortController().signal;
const two = modelEntry([deploymentEntry('dep_a'), deploymentEntry('dep_b')]);
const narrow = modelEntry([deploymentEntry('dep_a', { maxConcurrency: 1 })]);

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

describe('router probes', () => {
  it('mark a deployment down after two failures and allow a trial when it responds again', async () => {
    const { router, clock, engines } = ground();
    engines.health.set('dep_a', 'refused');
    callOf(router.route(two, routeRequest())).end('cancelled');
    await clock.advance(0);
    expect(viewOf(router, two, 'dep_a').health).toBe('degraded');
    await clock.advance(routerLimits.probe.everyMs);
    expect(viewOf(router, two, 'dep_a').health).toBe('down');
    expect(viewOf(router, two, 'dep_b').health).toBe('healthy');
    for (let request = 0; request < 20; request += 1) {
      const call = callOf(router.route(two, routeRequest({ prefix: `prompt ${request}` })));
      expect(call.deployment.id).toBe('dep_b');
      call.end('ok');
    }
    engines.health.set('dep_a', 200);
    await clock.advance(routerLimits.probe.everyMs);
    expect(viewOf(router, two, 'dep_a').health).toBe('healthy');
    router.close();
  });

  it('end a breaker’s pause when an unreachable engine responds again', async () => {
    const { router, clock, engines } = ground();
    engines.health.set('dep_a', 'refused');
    for (let failure = 0; failure < routerLimits.breaker.failuresInRow; failure += 1) {
      callOf(router.route(narrow, routeRequest())).end('failed');
    }
    await clock.advance(1_500);
    expect(viewOf(router, narrow, 'dep_a')).toMatchObject({ health: 'down', breaker: 'open' });
    engines.health.set('dep_a', 200);
    expect(router.isUp(narrow)).toBe(false);
    await clock.advance(499);
    expect(router.isUp(narrow)).toBe(false);
    await clock.advance(1);
    expect(viewOf(router, narrow, 'dep_a')).toMatchObject({ health: 'healthy', breaker: 'half-open' });
    router.close();
  });

  it('run at once after a failed call, so that others are preferred before the next interval', async () => {
    const { router, clock, engines } = ground();
    const call = callOf(router.route(two, routeRequest()));
    await clock.advance(500);
    engines.health.set(call.deployment.id, 'refused');
    call.end('failed');
    await clock.advance(0);
    expect(viewOf(router, two, call.deployment.id).health).toBe('degraded');
    expect(callOf(router.route(two, routeRequest())).deployment.id).not.toBe(call.deployment.id);
    router.close();
  });

  it('do not overrule a deployment that has just served a request', async () => {
    const { router, clock, engines } = ground();
    engines.health.set('dep_a', 'silent');
    for (let second = 0; second < 5; second += 1) {
      const call = callOf(router.route(narrow, routeRequest()));
      await clock.advance(900);
      call.firstByte();
      await clock.advance(100);
      call.end('ok');
    }
    expect(viewOf(router, narrow, 'dep_a').health).not.toBe('down');
    router.close();
  });

  it('read the load of others, count own calls exactly and discard old readings', async () => {
    const { router, clock, engines } = ground();
    const call = callOf(router.route(narrow, routeRequest()));
    engines.loads.set('dep_a', llamaMetrics(4, 2));
    await clock.advance(routerLimits.probe.everyMs);
    expect(viewOf(router, narrow, 'dep_a')).toMatchObject({ inFlight: 1, others: 5, waiting: 2 });
    call.end('ok');
    expect(viewOf(router, narrow, 'dep_a')).toMatchObject({ inFlight: 0, others: 5, waiting: 1 });
    // The engine reports itself full, although this gateway has no calls there.
    expect(router.route(narrow, routeRequest()).outcome).toBe('full');
    engines.health.set('dep_a', 'silent');
    await clock.advance(routerLimits.probe.everyMs * 4);
    expect(viewOf(router, narrow, 'dep_a')).toMatchObject({ others: 0, waiting: 0 });
    router.close();
  });

  it('check health less often while healthy and stop for an unused model', async () => {
    const { router, clock, engines } = ground();
    callOf(router.route(narrow, routeRequest())).end('ok');
    await clock.advance(10_500);
    expect(engines.countOf('dep_a/metrics')).toBe(11);
    expect(engines.countOf('dep_a/health')).toBe(3);
    await clock.advance(routerLimits.probe.idleAfterMs);
    const count = engines.probes.length;
    expect(clock.sleeping).toBe(0);
    await clock.advance(60_000);
    expect(engines.probes.length).toBe(count);
    expect(viewOf(router, narrow, 'dep_a').health).toBe('unknown');
    callOf(router.route(narrow, routeRequest())).end('ok');
    expect(engines.probes.length).toBe(count + 1);
    router.close();
    await clock.advance(60_000);
    expect([clock.sleeping, engines.isClosed]).toEqual([0, true]);
  });

  it('skip the mock and ask servers without the page rarely', async () => {
    const { router, clock, engines } = ground();
    const others = modelEntry([
      deploymentEntry('dep_a', { engine: 'openai' }),
      deploymentEntry('dep_m', { engine: 'mock' }),
    ]);
    engines.health.set('dep_a', 404);
    for (let second = 0; second < 30; second += 1) {
      callOf(router.route(others, routeRequest())).end('ok');
      await clock.advance(1_000);
    }
    expect(engines.probes).toEqual(['dep_a/health']);
    expect(router.views(others).map(({ health }) => health)).toEqual(['unknown', 'unknown']);
    router.close();
  });
});

describe('Router.waitForTurn', () => {
  it('gives freed capacity to the waiting request before any new one', async () => {
    const { router } = ground();
    const first = callOf(router.route(narrow, routeRequest()));
    const waiting = router.waitForTurn(narrow, routeRequest({ orgId: 'org_2' }), never);
    first.end('ok');
    // The capacity is assigned when it becomes free, not when the promise is awaited.
    expect(router.route(narrow, routeRequest()).outcome).toBe('full');
    const second = callOf(await waiting);
    second.end('ok');
    callOf(router.route(narrow, routeRequest())).end('ok');
    router.close();
  });

  it('returns full at once if the queue is full, and after the maximum wait', async () => {
    const line = { maxWaiting: 2, maxWaitingPerOrganisation: 1, maxWaitMs: 5_000 };
    const { router, clock } = ground({ line });
    callOf(router.route(narrow, routeRequest()));
    const outcomes: string[] = [];
    const join = (orgId: string): void => {
      void router
        .waitForTurn(narrow, routeRequest({ orgId }), never)
        .then(({ outcome }) => outcomes.push(`${orgId} ${outcome}`));
    };
    join('org_1');
    join('org_1');
    join('org_2');
    join('org_3');
    await clock.advance(4_999);
    expect(outcomes).toEqual(['org_1 full', 'org_3 full']);
    await clock.advance(1);
    expect(outcomes.slice(2)).toEqual(['org_1 full', 'org_2 full']);
    router.close();
  });

  it('returns full at once if the queue is too slow, with a retry time', async () => {
    const { router, clock } = ground({
      line: { maxWaiting: 100, maxWaitingPerOrganisation: 100, maxWaitMs: 5_000 },
    });
    let call = callOf(router.route(narrow, routeRequest()));
    const join = (orgId: string): Promise<Route> =>
      router.waitForTurn(narrow, routeRequest({ orgId }), never);
    const serveNext = async (next: Promise<Route>): Promise<void> => {
      await clock.advance(2_000);
      call.end('ok');
      call = callOf(await next);
    };
    const early = [join('org_2'), join('org_3')];
    for (const next of early) await serveNext(next);
    const late = [join('org_4'), join('org_5')];
    await expect(join('org_6')).resolves.toEqual({ outcome: 'full', retryAfterMs: 6_000 });
    for (const next of late) await serveNext(next);
    call.end('ok');
    router.close();
  });

  it('removes a waiting request whose client has left', async () => {
    const { router } = ground();
    const first = callOf(router.route(narrow, routeRequest()));
    const left = new AbortController();
    const cancelled = router.waitForTurn(narrow, routeRequest(), left.signal);
    const stays = router.waitForTurn(narrow, routeRequest(), never);
    left.abort(new Error('the client left'));
    await expect(cancelled).rejects.toThrow('the client left');
    await expect(router.waitForTurn(narrow, routeRequest(), left.signal)).rejects.toThrow('the client left');
    first.end('ok');
    callOf(await stays).end('ok');
    router.close();
  });

  it('resolves with none when no deployment is up, and when the router closes', async () => {
    const { router, clock } = ground();
    const one = modelEntry([deploymentEntry('dep_a', { maxConcurrency: 5 })]);
    const calls = Array.from({ length: 5 }, () => callOf(router.route(one, routeRequest())));
    const waiting = Array.from({ length: 3 }, () => router.waitForTurn(one, routeRequest(), never));
    for (const call of calls) call.end('failed');
    const firstOnes = await Promise.all(waiting);
    // Four calls ended before the breaker opened, so all three waiting requests got a deployment.
    for (const route of firstOnes) callOf(route).end('cancelled');
    expect(router.route(one, routeRequest()).outcome).toBe('none');
    await expect(router.waitForTurn(one, routeRequest(), never)).resolves.toMatchObject({ outcome: 'none' });

    callOf(router.route(two, routeRequest()));
    const held = callOf(router.route(narrowOther, routeRequest()));
    const atClose = router.waitForTurn(narrowOther, routeRequest(), never);
    router.close();
    await expect(atClose).resolves.toMatchObject({ outcome: 'none' });
    held.end('ok');
    await clock.advance(60_000);
    expect(clock.sleeping).toBe(0);
  });

  it('serves a waiting request when a probe finds capacity, without any call ending', async () => {
    const { router, clock, engines } = ground();
    callOf(router.route(narrow, routeRequest())).end('ok');
    engines.loads.set('dep_a', llamaMetrics(1, 0));
    await clock.advance(1_000);
    expect(router.route(narrow, routeRequest()).outcome).toBe('full');
    const waiting = router.waitForTurn(narrow, routeRequest(), never);
    engines.loads.set('dep_a', llamaMetrics(0, 0));
    await clock.advance(1_000);
    callOf(await waiting).end('ok');
    router.close();
  });
});

const narrowOther = modelEntry([deploymentEntry('dep_n', { maxConcurrency: 1 })], 'narrow');

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
