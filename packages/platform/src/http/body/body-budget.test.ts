import { describe, expect, test } from 'vitest';
import { createBodyBudget, type BodyCaller } from './body-budget.ts';

const limits = {
  ...{ processBytes: 100, processBodies: 5 },
  ...{ unfundedBytes: 30, unfundedBodies: 2 },
  ...{ callerBytes: 60, callerBodies: 2 },
};
const funded = (subject: string): BodyCaller => ({ subject, isFunded: true });
const unfunded = (subject: string): BodyCaller => ({ subject, isFunded: false });
const tooMany = expect.objectContaining({ reason: 'TOO_MANY_UPLOADS' });
const isFull = expect.objectContaining({ reason: 'SERVICE_UNAVAILABLE' });

describe('createBodyBudget', () => {
  test("refuses bytes beyond the caller's limit with 429 and beyond the process's limit with 503", () => {
    const budget = createBodyBudget(limits);
    const first = budget.open(funded('a'));
    first.take(60);
    expect(() => first.take(1)).toThrow(tooMany);
    const second = budget.open(funded('b'));
    expect(() => second.take(41)).toThrow(isFull);
    second.take(40);
  });

  test("refuses bodies beyond the caller's limit with 429 and beyond the process's limit with 503", () => {
    const budget = createBodyBudget(limits);
    for (const subject of ['a', 'a', 'b', 'b']) budget.open(funded(subject));
    expect(() => budget.open(funded('a'))).toThrow(tooMany);
    budget.open(funded('c'));
    expect(() => budget.open(funded('d'))).toThrow(isFull);
  });

  test('limits unfunded callers to a shared part and reserves the rest for others', () => {
    const budget = createBodyBudget(limits);
    const [first, second] = [budget.open(unfunded('a')), budget.open(unfunded('b'))];
    first.take(20);
    second.take(10);
    expect(() => second.take(1)).toThrow(tooMany);
    expect(() => budget.open(unfunded('c'))).toThrow(tooMany);
    budget.open(funded('d')).take(60);
    first.release();
    budget.open(unfunded('c')).take(10);
  });

  test('fits one body of the maximum size per class, even if unfunded callers use all of theirs', () => {
    const budget = createBodyBudget(limits, 80);
    budget.open(unfunded('a')).take(80);
    budget.open(funded('b')).take(80);
    expect(() => budget.open(funded('c')).take(1)).toThrow(isFull);
  });

  test('counts nothing for a refused request', () => {
    const budget = createBodyBudget(limits);
    const share = budget.open(unfunded('a'));
    expect(() => share.take(31)).toThrow(tooMany);
    expect([budget.bytes, budget.bodies]).toEqual([0, 1]);
    share.take(30);
  });

  test('has its full capacity again after every reservation was released, each at most once', () => {
    const budget = createBodyBudget(limits);
    const shares = [budget.open(funded('a')), budget.open(funded('a')), budget.open(unfunded('b'))];
    for (const share of shares) share.take(20);
    for (const share of [...shares, ...shares]) share.release();
    expect([budget.bytes, budget.bodies]).toEqual([0, 0]);
    for (const subject of ['a', 'a', 'b', 'b']) budget.open(funded(subject)).take(25);
  });
});
