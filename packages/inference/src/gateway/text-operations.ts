import type { ContractSchemas } from '@millrace/contract';
import { chatAdapterOf, isChatEngine } from '../adapters/chat-adapter.ts';
import { completionAdapterOf } from '../adapters/completion-adapter.ts';
import { leastChatTokens, leastCompletionTokens } from '../adapters/least-tokens.ts';
import {
  chatChoices,
  chatTokensAsked,
  createChatReader,
  hasImages,
  plainConversation,
  prefixOf,
  promptBound,
  type ChatRequest,
} from '../wire/chat.ts';
import {
  completionChoices,
  completionPrefix,
  completionPromptBound,
  promptsOf,
  readCompletion,
  type CompletionRequest,
} from '../wire/completion.ts';
import type { TextOperation } from './text.ts';

/** The two operations that answer with text. */

export function chatOperation({
  chatRequest,
}: Pick<ContractSchemas, 'chatRequest'>): TextOperation<ChatRequest> {
  return {
    modalities: ['chat'],
    read: createChatReader(chatRequest),
    modelOf: ({ model }) => model,
    isStream: ({ stream }) => stream === true,
    maxTokensOf: chatTokensAsked,
    choicesOf: chatChoices,
    promptBound,
    plainConversation,
    leastPrompt: leastChatTokens,
    promptsOf: () => 1,
    prefixOf,
    needsImages: hasImages,
    adapterOf: (engine) => (isChatEngine(engine) ? chatAdapterOf(engine) : null),
  };
}

export const completionOperation: TextOperation<CompletionRequest> = {
  // A model that chats also goes on with a text.
  modalities: ['completion', 'chat'],
  read: readCompletion,
  modelOf: ({ model }) => model,
  isStream: ({ stream }) => stream === true,
  maxTokensOf: ({ max_tokens: asked }) => asked ?? null,
  choicesOf: completionChoices,
  promptBound: completionPromptBound,
  leastPrompt: leastCompletionTokens,
  promptsOf: (request) => promptsOf(request).length,
  prefixOf: completionPrefix,
  needsImages: () => false,
  adapterOf: (engine) => (isChatEngine(engine) ? completionAdapterOf(engine) : null),
};
