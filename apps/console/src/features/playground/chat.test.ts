import type { CompletionResult } from '@millrace/sdk/text';
import { describe, expect, test } from 'vitest';
import {
  messagesFor,
  reduceExchanges,
  parseSettings,
  truncationNotice,
  chatTotals,
  type ChatEvent,
  type Exchange,
} from './chat.ts';

const usage = { prompt_tokens: 10, completion_tokens: 4, cost_nano_usd: 1_234 };
const end: CompletionResult = {
  text: 'Hi.',
  usage,
  timing: { firstMs: 10, totalMs: 20 },
  requestId: 'req_1',
  finishReason: 'stop',
  stopped: false,
};
const after = (...events: readonly ChatEvent[]): readonly Exchange[] =>
  events.reduce<readonly Exchange[]>(reduceExchanges, []);
const exchange = (id: number, question: string, response: string): readonly ChatEvent[] => [
  { kind: 'asked', id, question },
  { kind: 'part', id, part: { text: response, thought: '' } },
  { kind: 'ended', id, end },
];

describe('conversation', () => {
  test('grows with each part, and keeps reasoning separate from the response', () => {
    const [only] = after(
      { kind: 'asked', id: 1, question: 'Hello' },
      { kind: 'part', id: 1, part: { text: '', thought: 'They greet.' } },
      { kind: 'part', id: 1, part: { text: 'Hi', thought: '' } },
      { kind: 'part', id: 1, part: { text: '.', thought: '' } },
    );
    expect(only).toMatchObject({ response: 'Hi.', thought: 'They greet.', state: 'answering' });
  });

  test('sends the system prompt and answered messages, without failed ones', () => {
    const exchanges = after(
      ...exchange(1, 'Hello', 'Hi.'),
      { kind: 'asked', id: 2, question: 'Lost' },
      { kind: 'failed', id: 2, error: new Error('away') },
    );
    expect(messagesFor('Be brief.', exchanges, 'And now?')).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Hello' },
      { role: 'assistant', content: 'Hi.' },
      { role: 'user', content: 'And now?' },
    ]);
    expect(messagesFor('  ', [], 'Hello')).toEqual([{ role: 'user', content: 'Hello' }]);
  });

  test('removes an exchange and everything after it when it is regenerated', () => {
    const exchanges = after(...exchange(1, 'a', 'A'), ...exchange(2, 'b', 'B'), ...exchange(3, 'c', 'C'), {
      kind: 'taken-back',
      id: 2,
    });
    expect(exchanges.map(({ id }) => id)).toEqual([1]);
    expect(reduceExchanges(exchanges, { kind: 'taken-back', id: 9 })).toBe(exchanges);
    expect(reduceExchanges(exchanges, { kind: 'cleared' })).toEqual([]);
  });

  test('ignores late parts of a removed exchange', () => {
    const exchanges = after(...exchange(1, 'a', 'A'), { kind: 'taken-back', id: 1 });
    expect(reduceExchanges(exchanges, { kind: 'booked', id: 1, usage })).toEqual([]);
  });
});

describe('conversation totals', () => {
  test('sum the costs and count those that are unknown', () => {
    const stopped: CompletionResult = { ...end, usage: null, stopped: true };
    const exchanges = after(
      ...exchange(1, 'a', 'A'),
      { kind: 'asked', id: 2, question: 'b' },
      { kind: 'ended', id: 2, end: stopped },
    );
    expect(chatTotals(exchanges)).toEqual({ tokensIn: 10, tokensOut: 4, costNanoUsd: 1_234n, uncounted: 1 });
    const recorded = reduceExchanges(exchanges, { kind: 'booked', id: 2, usage });
    expect(chatTotals(recorded)).toEqual({ tokensIn: 20, tokensOut: 8, costNanoUsd: 2_468n, uncounted: 0 });
    expect(reduceExchanges(recorded, { kind: 'booked', id: 2, usage: null })).toEqual(recorded);
  });

  test('truncationNotice says why a response is incomplete', () => {
    expect(truncationNotice(end)).toBeNull();
    expect(truncationNotice({ ...end, stopped: true })).toMatch(/You stopped/);
    expect(truncationNotice({ ...end, finishReason: 'length' })).toMatch(/maximum number of tokens/);
  });
});

describe('settings', () => {
  const read = (temperature: string, maxTokens: string, most: number | null = 1_024) =>
    parseSettings({ system: '', temperature, maxTokens }, most);

  test('parseSettings omits empty settings', () => {
    expect(read('', ' ')).toEqual({ ok: true, numbers: {} });
    expect(read('0.7', '200')).toEqual({ ok: true, numbers: { temperature: 0.7, max_tokens: 200 } });
  });

  test.each([
    ['2.1', '', 'temperature'],
    ['-1', '', 'temperature'],
    ['warm', '', 'temperature'],
    ['', '0', 'maxTokens'],
    ['', '1.5', 'maxTokens'],
    ['', '1025', 'maxTokens'],
    ['', '1e3', 'maxTokens'],
  ])('parseSettings of %j and %j reports an invalid %s', (temperature, maxTokens, field) => {
    const result = read(temperature, maxTokens);
    expect(Object.keys(result)).toEqual(['ok', field]);
    expect(result.ok).toBe(false);
  });
});
