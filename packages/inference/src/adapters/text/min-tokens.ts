import type { ChatRequest } from '../../wire/chat-request.ts';
import { promptsOf, type CompletionRequest } from '../../wire/completion-request.ts';

/**
 * Lower bound of the tokens of a text, for engines that did not count them: one per word and per further 32 characters of it.
 * Tokenisers join no words, and their longest tokens are shorter, so such bills are below the engine's own count.
 */

const maxTokenLength = 32;

export function minTokens(text: string): number {
  let tokens = 0;
  let word = 0;
  for (let at = 0; at < text.length; at += 1) {
    if (text.charCodeAt(at) <= 32) word = 0;
    else {
      if (word % maxTokenLength === 0) tokens += 1;
      word += 1;
    }
  }
  return tokens;
}

/** One token per image and one per message for its role. */
export function minChatTokens(request: ChatRequest): number {
  let tokens = 0;
  for (const { content } of request.messages) {
    tokens += 1;
    if (typeof content === 'string') tokens += minTokens(content);
    else for (const part of content ?? []) tokens += part.type === 'text' ? minTokens(part.text) : 1;
  }
  return tokens;
}

export function minCompletionTokens(request: CompletionRequest): number {
  return promptsOf(request).reduce((tokens, prompt) => tokens + Math.max(1, minTokens(prompt)), 0);
}
