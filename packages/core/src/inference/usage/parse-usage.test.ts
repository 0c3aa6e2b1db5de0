import { describe, expect, it } from 'vitest';
import { usageEventOf } from '../usage.fixture.ts';
import { parseMessage } from './parse-usage.ts';

const batchOf = (...events: readonly unknown[]) => ({
  subject: 'usage.1.batch',
  text: () => JSON.stringify({ events }),
});

describe('a message of the usage stream', () => {
  it('is read whole, with amounts as they were sent', () => {
    const event = usageEventOf({
      reservedNanoUsd: '9007199254740991',
      amountNanoUsd: '17',
      pricedNanoUsd: '18',
    });
    const { usage, ends, unreadable } = parseMessage(batchOf(event));
    expect([ends, unreadable]).toEqual([[], []]);
    expect(usage).toMatchObject([{ event, amount: 17n, priced: 18n, reserved: 9_007_199_254_740_991n }]);
  });

  it('never charges above what was reserved, whatever a gateway says', () => {
    const { usage } = parseMessage(batchOf(usageEventOf({ reservedNanoUsd: '10', amountNanoUsd: '11' })));
    expect(usage[0]?.amount).toBe(10n);
  });

  it('may be the end of epochs', () => {
    const { orgId } = usageEventOf({});
    const end = { orgId, mode: 'live', cell: 1, gatewayId: 'gw-1.1', throughEpoch: '3' };
    const read = parseMessage({ subject: `usage.1.${orgId}.end`, text: () => JSON.stringify(end) });
    expect(read).toEqual({ usage: [], unreadable: [], ends: [{ ...end, throughEpoch: 3n }] });
  });

  it.each([
    ['no request', { requestId: 'req_1' }],
    ['an organisation of another kind', { orgId: usageEventOf({}).keyId }],
    ['no amount', { amountNanoUsd: '-1' }],
    ['more than a request can cost', { pricedNanoUsd: '9007199254740992' }],
    ['live without a lease', { leaseId: null }],
    ['test with a lease', { mode: 'test' as const }],
    ['a time that is none', { createdAtMs: -1 }],
    [
      'an attempt in another millennium',
      { attempts: [{ ...usageEventOf({}).attempts[0], startedAtMs: 1e15 }] },
    ],
    ['no model', { model: '\u0000' }],
    ['a gateway without a name', { gatewayId: '' }],
    ['a word that nobody knows', { prompt: 'hello' }],
  ])('puts %s aside and reads the others', (_, wrong) => {
    const good = usageEventOf({});
    const bad = { ...usageEventOf({}), ...wrong };
    const { usage, unreadable } = parseMessage(batchOf(bad, good));
    expect(usage.map(({ requestId }) => requestId)).toEqual([good.requestId]);
    expect(unreadable).toMatchObject([{ position: 0, problem: expect.stringMatching(/./) }]);
  });

  it('keeps words of engines that PostgreSQL would refuse, without what it would refuse of them', () => {
    const { usage } = parseMessage(batchOf(usageEventOf({ finishReason: 'st\u0000op\ud800' })));
    expect(usage[0]?.event.finishReason).toBe('stop\ufffd');
  });

  it.each([
    ['no JSON', 'usage.1.batch', '{'],
    ['no batch', 'usage.1.batch', '{"events":1}'],
    ['nothing', 'usage.1.batch', 'null'],
    ['no end', 'usage.1.org.end', '{}'],
    ['something unheard of', 'usage.1.else', '{}'],
  ])('that is %s is put aside whole', (_, subject, text) => {
    const read = parseMessage({ subject, text: () => text });
    expect(read).toMatchObject({ usage: [], ends: [], unreadable: [{ position: 0, payload: text }] });
  });
});
