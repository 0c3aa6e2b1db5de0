import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { WaitQueue } from './wait-queue.ts';

interface Named {
  readonly orgId: string;
  readonly name: string;
}

const limits = { maxWaiting: 6, maxWaitingPerOrganisation: 4, maxWaitMs: 1_000 };
const organisations = ['a', 'b', 'c'];

function takeOne(line: WaitQueue<Named>): string | undefined {
  let taken: string | undefined;
  line.offer((waiter) => {
    if (taken !== undefined) return 'stop';
    taken = waiter.name;
    return 'served';
  });
  return taken;
}

describe('WaitQueue', () => {
  it('serves organisations in turn, each in its own order', () => {
    const line = new WaitQueue<Named>(limits);
    for (const name of ['a1', 'a2', 'a3', 'b1', 'c1', 'c2']) line.add({ orgId: name.slice(0, 1), name });
    const order: (string | undefined)[] = [];
    while (line.size > 0) order.push(takeOne(line));
    expect(order).toEqual(['a1', 'b1', 'c1', 'a2', 'c2', 'a3']);
  });

  it('returns the number of requests ahead, or null if the queue is full', () => {
    const joins = fc.array(fc.constantFrom(...organisations), { maxLength: 12 });
    fc.assert(
      fc.property(joins, fc.constantFrom(...organisations), (before, orgId) => {
        const line = new WaitQueue<Named>(limits);
        for (const other of before) {
          if (line.placeFor(other) !== null) line.add({ orgId: other, name: 'other' });
        }
        const place = line.placeFor(orgId);
        if (place === null) return;
        line.add({ orgId, name: 'me' });
        let served = 0;
        while (takeOne(line) !== 'me') served += 1;
        // The organisation that was served last can be offered one more turn first, never more.
        expect(Math.abs(served - place)).toBeLessThanOrEqual(organisations.length - 1);
      }),
    );
  });

  it('never exceeds its limits in total and per organisation', () => {
    const moves = fc.array(
      fc.oneof(fc.constantFrom(...organisations), fc.constant('serve'), fc.constant('leave')),
      { maxLength: 80 },
    );
    fc.assert(
      fc.property(moves, (script) => {
        const line = new WaitQueue<Named>(limits);
        const inside: Named[] = [];
        for (const move of script) {
          if (move === 'serve') {
            line.offer((waiter) => {
              inside.splice(inside.indexOf(waiter), 1);
              return 'served';
            });
          } else if (move === 'leave') {
            const [first] = inside.splice(0, 1);
            if (first !== undefined) {
              expect(line.remove(first)).toBe(true);
              expect(line.remove(first)).toBe(false);
            }
          } else if (line.placeFor(move) !== null) {
            const waiter = { orgId: move, name: move };
            line.add(waiter);
            inside.push(waiter);
          }
          expect(line.size).toBe(inside.length);
          expect(inside.length).toBeLessThanOrEqual(limits.maxWaiting);
          for (const orgId of organisations) {
            const own = inside.filter((waiter) => waiter.orgId === orgId).length;
            expect(own).toBeLessThanOrEqual(limits.maxWaitingPerOrganisation);
          }
        }
      }),
    );
  });

  it("offers capacity to the next organisation if one cannot use it, and keeps that one's position", () => {
    const line = new WaitQueue<Named>(limits);
    for (const name of ['a1', 'b1', 'a2']) line.add({ orgId: name.slice(0, 1), name });
    const served: string[] = [];
    line.offer(({ orgId, name }) => {
      if (orgId === 'a') return 'passed';
      served.push(name);
      return 'served';
    });
    expect(served).toEqual(['b1']);
    expect([takeOne(line), takeOne(line), line.size]).toEqual(['a1', 'a2', 0]);
  });
});
