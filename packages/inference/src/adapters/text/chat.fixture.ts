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

/** Requests, contexts and readers that the adapter tests share. */

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

/** Each kind of token changes a different digit of the cost. */
export const completionContext: CompletionContext = {
  requestId: 'req_1',
  model: 'acme/chät',
  createdSeconds: 1_760_000_001,
  leastPrompt: () => 2,
  costOf: ({ prompt, cached, completion }) => (prompt - cached) * 10_000 + cached * 100 + completion,
};

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

/** Everything that a client gets from a stream that arrives in these pieces. */
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

/** A chunk of a chat or completion stream. */
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

/** The events of a stream without `[DONE]`. */
export function eventsIn(text: string): StreamEvent[] {
  return text
    .split('\n\n')
    .filter((block) => block.startsWith('data: {'))
    .map((block) => JSON.parse(block.slice(6)) as StreamEvent);
}

export function textsIn(text: string): string[] {
  const texts: string[] = [];
  for (const { choices } of eventsIn(text)) {
    for (const { index, delta, text: part } of choices) {
      texts[index] = (texts[index] ?? '') + (delta?.content ?? part ?? '');
    }
  }
  return texts;
}
