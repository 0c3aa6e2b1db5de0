import { describe, expect, it } from 'vitest';
import { routerLimits } from './limits.ts';
import {
  deploymentEntry,
  llamaMetrics,
  modelEntry,
  routeRequest,
  ground,
  callOf,
  viewOf,
  two,
  narrow,
} from './router-types.fixture.ts';

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
