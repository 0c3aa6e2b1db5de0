import { contract } from '@millrace/contract';
import type { DeploymentEntry } from '@millrace/core/inference';
import { createChatReader, type ChatRequest } from '../../wire/chat-request.ts';
import { readCompletion, type CompletionRequest } from '../../wire/completion-request.ts';
import {
  TextEngineError,
  type CompletionContext,
  type TextAdapter,
  type TextStream,
  type TokenCounts,
} from './text-adapter.ts';

/** Requests, facts and readers that the tests of the adapters share. */

const readChat = createChatReader(contract.schemas.chatRequest);

export function chatRequest(body: object = {}): ChatRequest {
  return readChat({ model: 'acme/chät', messages: [{ role: 'user', content: 'Hi' }], ...body }).request;
}

export function completionRequest(body: object = {}): CompletionRequest {
  return readCompletion({ model: 'acme/chät', prompt: 'Once', ...body }).request;
}

export const deployment: DeploymentEntry = {
  id: 'dep_1',
  engine: 'vllm',
  address: 'http://127.0.0.1:1',
  upstreamModel: 'up/model',
  apiKey: 'secret',
  region: 'r1',
  weight: 1,
  maxConcurrency: null,
};

export const upstreamContext = { deployment, maxTokens: 16, cacheSalt: 'salt-of-org' };

/** Every kind of token has a price that shows in the sum. */
export const completionContext: CompletionContext = {
  requestId: 'req_1',
  model: 'acme/chät',
  createdSeconds: 1_760_000_001,
  leastPrompt: () => 2,
  costOf: ({ prompt, cached, completion }) => (prompt - cached) * 10_000 + cached * 100 + completion,
};

/** What an adapter sends to its engine, as the engine reads it. */
export function upstreamBodyOf<Request>(
  adapter: TextAdapter<Request>,
  request: Request,
): Readonly<Record<string, unknown>> {
  return JSON.parse(adapter.toUpstream(request, upstreamContext).body) as Readonly<Record<string, unknown>>;
}

export interface ReadStreamResult {
  readonly text: string;
  readonly counts: TokenCounts;
  readonly finishReason: string | null;
  readonly broken: TextEngineError | null;
}

/** All that a client would get of a stream that comes in these pieces. */
export function readStream(stream: TextStream, pieces: Iterable<Buffer | string>): ReadStreamResult {
  let text = '';
  let broken: TextEngineError | null = null;
  try {
    for (const piece of pieces) text += stream.push(Buffer.from(piece)).toString();
    text += stream.end();
  } catch (error) {
    if (!(error instanceof TextEngineError)) throw error;
    broken = error;
  }
  return { text, counts: stream.counts(), finishReason: stream.finishReason(), broken };
}

/** A chunk as a client reads it, of a chat or of a completion. */
export interface StreamEvent {
  readonly id: string;
  readonly object: string;
  readonly created: number;
  readonly model: string;
  readonly choices: readonly {
    readonly index: number;
    readonly delta?: {
      readonly role?: string;
      readonly content?: string;
      readonly tool_calls?: readonly object[];
    };
    readonly text?: string;
    readonly logprobs?: { readonly content: readonly { readonly top_logprobs: readonly object[] }[] } | null;
    readonly finish_reason: string | null;
  }[];
  readonly usage?: Readonly<Record<string, unknown>>;
}

/** The events of a stream, `[DONE]` left out. */
export function eventsIn(text: string): StreamEvent[] {
  return text
    .split('\n\n')
    .filter((block) => block.startsWith('data: {'))
    .map((block) => JSON.parse(block.slice(6)) as StreamEvent);
}

/** The text of each choice. */
export function textsIn(text: string): string[] {
  const texts: string[] = [];
  for (const { choices } of eventsIn(text)) {
    for (const { index, delta, text: part } of choices) {
      texts[index] = (texts[index] ?? '') + (delta?.content ?? part ?? '');
    }
  }
  return texts;
}
