import { describe, expect, it } from 'vitest';
import { usageEventOf } from '../usage.fixture.ts';
import { parseMessage } from './parse-usage.ts';

const batchOf = (...events: readonly unknown[]) => ({
  subject: 'usage.1.batch',
  text: () => JSON.stringify({ events }),
});

describe('parseMessage', () => {
  it('reads a whole batch, with amounts as they were sent', () => {
    const event = usageEventOf({
      reservedNanoUsd: '9007199254740991',
      amountNanoUsd: '17',
      pricedNanoUsd: '18',
    });
    const { usage, ends, unreadable } = parseMessage(batchOf(event));
    expect([ends, unreadable]).toEqual([[], []]);
    expect(usage).toMatchObject([{ event, amount: 17n, priced: 18n, reserved: 9_007_199_254_740_991n }]);
  });

  it('never charges more than the reservation, whatever the gateway reports', () => {
    const { usage } = parseMessage(batchOf(usageEventOf({ reservedNanoUsd: '10', amountNanoUsd: '11' })));
    expect(usage[0]?.amount).toBe(10n);
  });

  it('reads end markers', () => {
    const { orgId } = usageEventOf({});
    const end = { orgId, mode: 'live', cell: 1, gatewayId: 'gw-1.1', throughEpoch: '3' };
    const read = parseMessage({ subject: `usage.1.${orgId}.end`, text: () => JSON.stringify(end) });
    expect(read).toEqual({ usage: [], unreadable: [], ends: [{ ...end, throughEpoch: 3n }] });
  });

  it.each([
    ['an invalid request id', { requestId: 'req_1' }],
    ['an organisation id of another kind', { orgId: usageEventOf({}).keyId }],
    ['a negative amount', { amountNanoUsd: '-1' }],
    ['an amount that is too large', { pricedNanoUsd: '9007199254740992' }],
    ['live usage without a lease', { leaseId: null }],
    ['test usage with a lease', { mode: 'test' as const }],
    ['a negative time', { createdAtMs: -1 }],
    [
      'an attempt in another millennium',
      { attempts: [{ ...usageEventOf({}).attempts[0], startedAtMs: 1e15 }] },
    ],
    ['an invalid model name', { model: '\u0000' }],
    ['an empty gateway id', { gatewayId: '' }],
    ['an unknown field', { prompt: 'hello' }],
  ])('quarantines an event with %s and reads the others', (_, wrong) => {
    const good = usageEventOf({});
    const bad = { ...usageEventOf({}), ...wrong };
    const { usage, unreadable } = parseMessage(batchOf(bad, good));
    expect(usage.map(({ requestId }) => requestId)).toEqual([good.requestId]);
    expect(unreadable).toMatchObject([{ position: 0, problem: expect.stringMatching(/./) }]);
  });

  it('removes characters that PostgreSQL rejects from texts of engines', () => {
    const { usage } = parseMessage(batchOf(usageEventOf({ finishReason: 'st\u0000op\ud800' })));
    expect(usage[0]?.event.finishReason).toBe('stop\ufffd');
  });

  it.each([
    ['no JSON', 'usage.1.batch', '{'],
    ['no batch', 'usage.1.batch', '{"events":1}'],
    ['nothing', 'usage.1.batch', 'null'],
    ['no end', 'usage.1.org.end', '{}'],
    ['of an unknown subject', 'usage.1.else', '{}'],
  ])('quarantines a whole message that is %s', (_, subject, text) => {
    const read = parseMessage({ subject, text: () => text });
    expect(read).toMatchObject({ usage: [], ends: [], unreadable: [{ position: 0, payload: text }] });
  });
});
