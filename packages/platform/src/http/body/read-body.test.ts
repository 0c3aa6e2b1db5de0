import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { createBodyBudget, type BodyBudget } from './body-budget.ts';
import { readBody } from './read-body.ts';

const MIB = 1_048_576;
const maxBytes = MIB;

function budgetOf(bytes: number): BodyBudget {
  const [processBytes, unfundedBytes, callerBytes] = [bytes, bytes, bytes];
  const [processBodies, unfundedBodies, callerBodies] = [100, 100, 100];
  return createBodyBudget({
    ...{ processBytes, unfundedBytes, callerBytes, processBodies, unfundedBodies, callerBodies },
  });
}

interface Outcome {
  body: string | null;
  error: unknown;
  left: boolean;
}

function begin(budget: BodyBudget, { announced = 0 } = {}, request = new Readable({ read() {} })) {
  const outcome: Outcome = { body: null, error: null, left: false };
  readBody(request, {
    announced,
    maxBytes,
    share: budget.open({ subject: 'a', isFunded: true }),
    parse: (bytes) => {
      const text = bytes.toString('utf8');
      if (text === 'bad') throw new Error('bad');
      return text;
    },
    done: (body) => (outcome.body = body),
    fail: (error) => (outcome.error = error),
    left: () => (outcome.left = true),
  });
  return { request, outcome };
}

const piece = Buffer.alloc(64 * 1024, 0x61);

describe('readBody', () => {
  test('reads a body of several chunks and releases its reservation', () => {
    const budget = budgetOf(MIB);
    const { request, outcome } = begin(budget);
    for (const text of ['one', ' and ', 'two']) request.emit('data', Buffer.from(text));
    expect(budget.bytes).toBe(16 * 1024);
    request.emit('end');
    expect(outcome).toEqual({ body: 'one and two', error: null, left: false });
    expect([budget.bytes, budget.bodies]).toEqual([0, 0]);
  });

  test.each([
    ['the announced length', { announced: maxBytes + 1 }, []],
    ['its bytes', {}, [Buffer.alloc(maxBytes), Buffer.alloc(1)]],
  ])('refuses a body that is too large according to %s', (_, options, chunks) => {
    const budget = budgetOf(2 * MIB);
    const { request, outcome } = begin(budget, options);
    for (const chunk of chunks) request.emit('data', chunk);
    expect(outcome.error).toMatchObject({ reason: 'BODY_TOO_LARGE' });
    expect([budget.bytes, budget.bodies]).toEqual([0, 0]);
  });

  test('releases the reservation of a body that cannot be parsed', () => {
    const budget = budgetOf(MIB);
    const { request, outcome } = begin(budget);
    request.emit('data', Buffer.from('bad'));
    request.emit('end');
    expect(outcome.error).toMatchObject({ message: 'bad' });
    expect([budget.bytes, budget.bodies]).toEqual([0, 0]);
  });

  test('releases the reservation of a client that disconnected before its body was read', () => {
    const budget = budgetOf(MIB);
    const request = new Readable({ read() {} });
    request.destroy();
    const { outcome } = begin(budget, {}, request);
    expect(outcome.left).toBe(true);
    expect(budget.bodies).toBe(0);
  });

  test.each([
    ['of disconnected clients', 'close'],
    ['that were parsed', 'end'],
    ['that were refused', 'data'],
  ])('frees the memory of bodies %s before it releases their reservation', (_, event) => {
    const budget = budgetOf(16 * MIB);
    const before = process.memoryUsage().arrayBuffers;
    for (let round = 0; round < 40; round += 1) {
      const { request } = begin(budget);
      for (let sent = 0; sent < maxBytes; sent += piece.length) request.emit('data', piece);
      request.emit(event, piece);
    }
    expect([budget.bytes, budget.bodies]).toEqual([0, 0]);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(8 * MIB);
  });
});
