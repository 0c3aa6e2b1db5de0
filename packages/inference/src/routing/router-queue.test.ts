import { describe, expect, it } from 'vitest';
import {
  deploymentEntry,
  llamaMetrics,
  modelEntry,
  routeRequest,
  ground,
  callOf,
  never,
  two,
  narrow,
} from './router-types.fixture.ts';
import type { Route } from './router-types.ts';

const narrowOther = modelEntry([deploymentEntry('dep_n', { maxConcurrency: 1 })], 'narrow');

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
