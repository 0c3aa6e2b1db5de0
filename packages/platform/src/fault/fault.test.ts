import { errorBodyFor, reasons, statusFor } from '@millrace/contract';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { Fault, issuesFromZod, renderFault } from './index.ts';
import type { FaultTarget } from './index.ts';

const targets = [
  null,
  { source: 'own', errorFamily: 'v2' },
  { source: 'interface', errorFamily: 'v2' },
  { source: 'interface', errorFamily: 'inference' },
  { source: 'interface', errorFamily: 'marketplace' },
] as const satisfies readonly FaultTarget[];

test('renderFault returns a body that fits the published schema for every reason and error family', () => {
  const issues = [{ message: 'is required', path: ['a', 0], code: 'invalid_type' }];
  for (const reason of reasons) {
    for (const target of targets) {
      const { status, body } = renderFault(new Fault(reason, { issues }), target, 'req_1');
      expect(status, reason).toBe(statusFor(reason, target));
      const parsed = errorBodyFor(target?.errorFamily ?? 'v2', status).safeParse(body);
      expect(parsed.error, `${reason} ${JSON.stringify(target)}`).toBeUndefined();
    }
  }
});

test('renderFault never replaces standard fields by extra fields', () => {
  const fault = new Fault('RATE_LIMITED', {
    extra: { message: 'forged', requestId: 'forged', limit: { name: 'x' } },
  });
  const { body } = renderFault(fault, null, 'req_1');
  expect(body).toMatchObject({ requestId: 'req_1', limit: { name: 'x' } });
  expect(body['message']).not.toBe('forged');
});

test('renderFault responds INTERNAL to an unknown error and reveals nothing about it', () => {
  for (const thrown of [new Error('password is hunter2'), 'hunter2', { hunter2: true }, undefined]) {
    const { status, body } = renderFault(thrown, null, 'req_1');
    expect([status, body['reason']]).toEqual([500, 'INTERNAL']);
    expect(JSON.stringify(body)).not.toContain('hunter2');
  }
});

test('renderFault omits internal texts and causes from every body', () => {
  const fault = new Fault('API_KEY_NOT_FOUND', { internal: 'belongs to org_2', cause: new Error('org_2') });
  for (const target of targets) {
    expect(JSON.stringify(renderFault(fault, target, 'req_1').body)).not.toContain('org_2');
  }
});

test('renderFault rounds Retry-After up to whole seconds, at least 1', () => {
  const after = (retryAfterSeconds?: number) =>
    renderFault(
      new Fault('SERVICE_UNAVAILABLE', retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
      null,
      'r',
    ).headers['retry-after'];
  expect([after(), after(0), after(0.2), after(1.2)]).toEqual(['1', '1', '1', '2']);
  expect(renderFault(new Fault('VALIDATION_FAILED'), null, 'r').headers).toEqual({});
  expect(renderFault(new Fault('MISSING_API_KEY'), null, 'r').headers['www-authenticate']).toContain(
    'Bearer',
  );
});

function explain(schema: z.ZodType, input: unknown) {
  const parsed = schema.safeParse(input);
  if (parsed.success) throw new Error('The input was accepted.');
  return issuesFromZod(parsed.error, input);
}

test.each([
  [z.object({ a: z.string() }), {}, ['a'], 'is required', 'Add a.'],
  [z.object({ a: z.enum(['x', 'y']) }), {}, ['a'], 'is required', 'Add a.'],
  [z.object({ a: z.string() }), { a: 1 }, ['a'], 'must be text', undefined],
  [z.object({ a: z.int() }), { a: 1.5 }, ['a'], 'must be a whole number', undefined],
  [z.object({ a: z.int().multipleOf(8) }), { a: 9 }, ['a'], 'must be a multiple of 8', 'Use 8, 16, 24, …'],
  [z.object({ a: z.number().min(3) }), { a: 1 }, ['a'], 'must be 3 or more', undefined],
  [z.object({ a: z.number().gt(3) }), { a: 3 }, ['a'], 'must be more than 3', undefined],
  [z.object({ a: z.number().max(3) }), { a: 4 }, ['a'], 'must be 3 or less', undefined],
  [z.object({ a: z.string().min(1) }), { a: '' }, ['a'], 'must not be empty', undefined],
  [z.object({ a: z.string().max(3) }), { a: 'abcd' }, ['a'], 'must have at most 3 characters', undefined],
  [z.object({ a: z.array(z.int()).max(1) }), { a: [1, 2] }, ['a'], 'must have at most 1 entry', undefined],
  [z.object({ a: z.enum(['x', 'y']) }), { a: 'z' }, ['a'], 'must be one of x, y', 'Use x, y.'],
  [z.object({ a: z.literal('x') }), { a: 'z' }, ['a'], 'must be x', 'Use x.'],
  [
    z.object({ a: z.array(z.object({ b: z.boolean() })) }),
    { a: [{ b: 1 }] },
    ['a', 0, 'b'],
    'must be true or false',
    undefined,
  ],
  [z.strictObject({ a: z.int() }), { a: 1, b: 2 }, [], 'has unknown fields: b', 'Remove b.'],
  [
    z.object({ a: z.string().regex(/^x/, 'must begin with x') }),
    { a: 'y' },
    ['a'],
    'must begin with x',
    undefined,
  ],
  [
    z.object({ a: z.iso.datetime() }),
    { a: 'now' },
    ['a'],
    'must be an RFC 3339 date and time, such as 2026-01-31T12:00:00Z',
    undefined,
  ],
  [
    z.union([z.object({ kind: z.literal('a'), n: z.int() }), z.string()]),
    { kind: 'a', n: 'x' },
    ['n'],
    'must be a number',
    undefined,
  ],
  [
    z.object({ type: z.union([z.literal('*'), z.enum(['rental.running', 'rental.failed'])]) }),
    { type: 'rental.runing' },
    ['type'],
    'must be one of *, rental.running, rental.failed',
    'Did you mean rental.running?',
  ],
  [
    z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('gpu') }),
      z.object({ kind: z.enum(['volume', 'disk']) }),
    ]),
    { kind: 'fish' },
    ['kind'],
    'must be one of gpu, volume, disk',
    undefined,
  ],
])(
  'issuesFromZod reports case %# in words that follow the field name',
  (schema, input, path, message, suggestion) => {
    const { issues, suggestion: suggested } = explain(schema, input);
    expect(issues[0]).toMatchObject({ path, message });
    expect(suggested).toBe(suggestion);
  },
);

test('issuesFromZod limits the number of issues', () => {
  const schema = z.array(z.int());
  const { issues } = explain(
    schema,
    Array.from({ length: 10_000 }, () => 'x'),
  );
  expect(issues).toHaveLength(20);
});

test('issuesFromZod suggests all missing fields at once', () => {
  const schema = z.object({ a: z.string(), b: z.int(), c: z.boolean() });
  expect(explain(schema, {}).suggestion).toBe('Add a, b and c.');
  expect(explain(schema, { b: 1 }).suggestion).toBe('Add a and c.');
});

test.each([
  ['event:read', 'Did you mean events:read?'],
  ['Events:Read', 'Did you mean events:read?'],
  ['rentals-write', 'Did you mean rentals:write?'],
  ['everything', 'Use events:read, rentals:write.'],
  ['e'.repeat(100_000), 'Use events:read, rentals:write.'],
  [7, 'Use events:read, rentals:write.'],
])('issuesFromZod suggests the nearest allowed value for %.20s', (a, suggestion) => {
  const schema = z.object({ a: z.enum(['events:read', 'rentals:write']) });
  expect(explain(schema, { a }).suggestion).toBe(suggestion);
});

test('issuesFromZod names the field of a suggestion if there are several issues', () => {
  const schema = z.object({ a: z.string().min(1), b: z.enum(['events:read']) });
  expect(explain(schema, { a: '', b: 'event:read' }).suggestion).toBe('b: Did you mean events:read?');
});

test('issuesFromZod lists many allowed values only once', () => {
  const many = Array.from({ length: 30 }, (_, index) => `value-number-${index}`);
  const { issues, suggestion } = explain(z.object({ a: z.enum(many) }), { a: 'no' });
  expect(issues[0]?.message).toContain('value-number-29');
  expect(suggestion).toBeUndefined();
});

test('issuesFromZod limits the issues of a body with 300 000 invalid entries', () => {
  const schema = z.object({ a: z.union([z.string(), z.array(z.int())]) });
  const { issues } = explain(schema, { a: Array.from({ length: 300_000 }, () => 'x') });
  expect(issues).toHaveLength(20);
  expect(issues[0]).toMatchObject({ path: ['a', 0], message: 'must be a number' });
});

test('renderFault appends the first issue to the message of inference errors', () => {
  const issues = [{ path: ['model'], message: 'is not one of ours', code: 'unknown_model' }];
  const fault = new Fault('MODEL_NOT_FOUND', { message: 'There is no model "x".', issues });
  expect(renderFault(fault, { source: 'interface', errorFamily: 'inference' }, 'r').body).toMatchObject({
    message: 'There is no model "x": model is not one of ours',
  });
});
