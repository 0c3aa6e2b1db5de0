import type { CompletionResult, CompletionDelta, CompletionUsage } from '@millrace/sdk/text';

/** State of a conversation, without rendering or network. */

export interface Exchange {
  readonly id: number;
  readonly question: string;
  readonly response: string;
  /** Reasoning text before the response. */
  readonly thought: string;
  readonly state: 'asked' | 'answering' | 'answered' | 'failed';
  readonly end: CompletionResult | null;
  /** From the response; for a stopped one, from the usage record a moment later. */
  readonly usage: CompletionUsage | null;
  readonly error: unknown;
}

export type ChatEvent =
  | { readonly kind: 'asked'; readonly id: number; readonly question: string }
  | { readonly kind: 'part'; readonly id: number; readonly part: CompletionDelta }
  | { readonly kind: 'ended'; readonly id: number; readonly end: CompletionResult }
  | { readonly kind: 'booked'; readonly id: number; readonly usage: CompletionUsage | null }
  | { readonly kind: 'failed'; readonly id: number; readonly error: unknown }
  /** Removes an exchange and everything after it, to regenerate it. */
  | { readonly kind: 'taken-back'; readonly id: number }
  | { readonly kind: 'cleared' };

function ofId(
  exchanges: readonly Exchange[],
  id: number,
  change: (exchange: Exchange) => Partial<Exchange>,
): readonly Exchange[] {
  return exchanges.map((exchange) => (exchange.id === id ? { ...exchange, ...change(exchange) } : exchange));
}

export function reduceExchanges(exchanges: readonly Exchange[], event: ChatEvent): readonly Exchange[] {
  switch (event.kind) {
    case 'asked': {
      const { id, question } = event;
      const started = {
        response: '',
        thought: '',
        state: 'asked',
        end: null,
        usage: null,
        error: null,
      } as const;
      return [...exchanges, { id, question, ...started }];
    }
    case 'part':
      return ofId(exchanges, event.id, ({ response, thought }) => ({
        response: response + event.part.text,
        thought: thought + event.part.thought,
        state: 'answering',
      }));
    case 'ended':
      return ofId(exchanges, event.id, () => ({ state: 'answered', end: event.end, usage: event.end.usage }));
    case 'booked':
      return ofId(exchanges, event.id, ({ usage }) => ({ usage: event.usage ?? usage }));
    case 'failed':
      return ofId(exchanges, event.id, () => ({ state: 'failed', error: event.error }));
    case 'taken-back': {
      const at = exchanges.findIndex(({ id }) => id === event.id);
      return at < 0 ? exchanges : exchanges.slice(0, at);
    }
    case 'cleared':
      return [];
  }
}

export interface Message {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
}

/** The messages to send: all answered exchanges, including stopped ones, then the question. */
export function messagesFor(system: string, exchanges: readonly Exchange[], question: string): Message[] {
  const history = exchanges
    .filter(({ state, response }) => state === 'answered' && response !== '')
    .flatMap((exchange): Message[] => [
      { role: 'user', content: exchange.question },
      { role: 'assistant', content: exchange.response },
    ]);
  const systemMessages: Message[] = system.trim() === '' ? [] : [{ role: 'system', content: system }];
  return [...systemMessages, ...history, { role: 'user', content: question }];
}

export interface ChatTotals {
  readonly tokensIn: number;
  readonly tokensOut: number;
  readonly costNanoUsd: bigint;
  /** Responses with unknown cost, not in the sum. */
  readonly uncounted: number;
}

export function chatTotals(exchanges: readonly Exchange[]): ChatTotals {
  const none: ChatTotals = { tokensIn: 0, tokensOut: 0, costNanoUsd: 0n, uncounted: 0 };
  return exchanges.reduce((sum, { state, usage }) => {
    if (state !== 'answered') return sum;
    if (usage?.cost_nano_usd === undefined) return { ...sum, uncounted: sum.uncounted + 1 };
    return {
      ...sum,
      tokensIn: sum.tokensIn + usage.prompt_tokens,
      tokensOut: sum.tokensOut + usage.completion_tokens,
      costNanoUsd: sum.costNanoUsd + BigInt(usage.cost_nano_usd),
    };
  }, none);
}

/** Why a response is incomplete; null if the model finished. */
export function truncationNotice(end: CompletionResult): string | null {
  if (end.stopped) return 'You stopped the response.';
  return end.finishReason === 'length' ? 'The response reached the maximum number of tokens.' : null;
}

/** Settings as typed; empty fields use the model's default. */
export interface ChatSettings {
  readonly system: string;
  readonly temperature: string;
  readonly maxTokens: string;
}

export interface ChatNumbers {
  readonly temperature?: number;
  readonly max_tokens?: number;
}

export function parseSettings(
  settings: ChatSettings,
  mostTokens: number | null,
):
  | { readonly ok: true; readonly numbers: ChatNumbers }
  | { readonly ok: false; readonly temperature?: string; readonly maxTokens?: string } {
  const temperature = parseNumber(settings.temperature);
  const maxTokens = parseNumber(settings.maxTokens);
  const most = mostTokens ?? 16_777_216;
  const wrongTemperature = temperature !== null && !(temperature >= 0 && temperature <= 2);
  const wrongTokens =
    maxTokens !== null && !(Number.isInteger(maxTokens) && maxTokens >= 1 && maxTokens <= most);
  if (wrongTemperature || wrongTokens) {
    return {
      ok: false,
      ...(wrongTemperature && { temperature: 'Enter a number from 0 to 2.' }),
      ...(wrongTokens && { maxTokens: `Enter a whole number from 1 to ${most.toLocaleString('en')}.` }),
    };
  }
  return {
    ok: true,
    numbers: {
      ...(temperature !== null && { temperature }),
      ...(maxTokens !== null && { max_tokens: maxTokens }),
    },
  };
}

/** Null if empty, NaN if invalid. */
export function parseNumber(text: string): number | null {
  const trimmed = text.trim();
  if (trimmed === '') return null;
  return /^-?\d+(?:\.\d+)?$/.test(trimmed) ? Number(trimmed) : Number.NaN;
}
