import { describe, expect, test } from 'vitest';
import { startConversation, messagesFor, parseLine, appendExchange } from './conversation.ts';
import { addUsage, formatFooter, noTotals, totalsText } from './footer.ts';

describe('conversation', () => {
  const started = startConversation('tiny', 'Be brief.');

  test('sends all earlier messages after the system prompt', () => {
    const after = appendExchange(started, 'Hello!', 'Hi.');
    expect(messagesFor(after, 'And now?')).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Hello!' },
      { role: 'assistant', content: 'Hi.' },
      { role: 'user', content: 'And now?' },
    ]);
    expect(messagesFor(startConversation('tiny', null), 'Hello!')).toEqual([
      { role: 'user', content: 'Hello!' },
    ]);
  });

  test('omits a question without a completion', () => {
    expect(appendExchange(started, 'Hello!', '')).toBe(started);
  });
});

describe('parseLine', () => {
  test.each([
    ['', { kind: 'nothing' }],
    ['  ', { kind: 'nothing' }],
    [' Why? ', { kind: 'question', text: 'Why?' }],
    ['/help', { kind: 'help' }],
    ['/clear', { kind: 'clear' }],
    ['/exit', { kind: 'exit' }],
    ['/quit', { kind: 'exit' }],
    ['/model', { kind: 'model', text: null }],
    ['/model meta/llama', { kind: 'model', text: 'meta/llama' }],
    ['/system  Be brief.', { kind: 'system', text: 'Be brief.' }],
    ['/modle x', { kind: 'unknown', command: '/modle' }],
    ['/etc/hosts, what is it?', { kind: 'question', text: '/etc/hosts, what is it?' }],
    ['// a comment', { kind: 'question', text: '// a comment' }],
  ])('parses %j', (typed, line) => expect(parseLine(typed)).toEqual(line));
});

describe('footer of a completion', () => {
  const usage = {
    prompt_tokens: 12,
    completion_tokens: 41,
    prompt_tokens_details: { cached_tokens: 4 },
    cost_nano_usd: 12_345,
  };

  test('shows tokens, exact cost and latency', () => {
    expect(formatFooter(usage, { firstMs: 210, totalMs: 1_410 })).toBe(
      '12 tokens in (4 cached), 41 out · $0.000012345 · first after 0.21 s, 1.41 s in all (33.3 tokens/s)',
    );
    expect(formatFooter({ prompt_tokens: 6, completion_tokens: 1 }, { firstMs: 90, totalMs: 90 })).toBe(
      '6 tokens in, 1 out · first after 0.09 s, 0.09 s in all',
    );
    expect(formatFooter(null, { firstMs: null, totalMs: 40 })).toBe('0.04 s');
  });

  test('shows totals, and says if the cost of a stopped completion is missing', () => {
    const two = addUsage(addUsage(noTotals, usage), usage);
    expect(totalsText(two)).toBe('2 completions · 24 tokens in, 82 out · $0.00002469');
    expect(totalsText(addUsage(noTotals, usage))).toMatch(/^1 completion ·/);
    expect(totalsText(addUsage(two, null))).toBe(
      '3 completions · 24 tokens in, 82 out · $0.00002469, without the cost of 1 stopped completion',
    );
  });
});
