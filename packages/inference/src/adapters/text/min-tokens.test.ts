import { describe, expect, it } from 'vitest';
import { chatRequest, completionRequest } from './chat.fixture.ts';
import { minChatTokens, minCompletionTokens, minTokens } from './min-tokens.ts';

describe('minTokens', () => {
  it.each([
    ['', 0],
    ['   \n\t ', 0],
    ['The mill turns.', 3],
    ['  The\tmill\n\nturns. ', 3],
    ['x'.repeat(32), 1],
    ['x'.repeat(33), 2],
    ['x'.repeat(320), 10],
    ['磨坊在夜里转动。', 1],
  ])('counts %j as %i tokens', (text, tokens) => {
    expect(minTokens(text)).toBe(tokens);
  });

  it('counts one token per message and image, and the words of text parts', () => {
    const messages = [
      { role: 'system', content: 'Be brief.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is this?' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } },
        ],
      },
    ];
    expect(minChatTokens(chatRequest({ messages }))).toBe(2 + 2 + 3 + 1);
  });

  it('counts at least one token per prompt of a completion', () => {
    expect(minCompletionTokens(completionRequest({ prompt: ['', 'Once upon a time'] }))).toBe(5);
  });
});
